// SPDX-License-Identifier: Apache-2.0
// Reads Python mappings into configuration structs, and prints these as mappings, by their visit()
// (core/config/visit.hpp).
//
// Contract: a key that is missing, one that nothing reads, and a value of another type or size are problems; all of
// them are collected, and thrown together as ConfigError, which Python sees as exanet._core.ConfigError with
// `problems`, a list of (path, text).
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <initializer_list>
#include <limits>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/config/error.hpp"
#include "core/config/visit.hpp"
#include "core/units/time.hpp"

namespace exanet {

namespace nb = nanobind;

template <typename T>
inline constexpr bool is_vector = false;
template <typename T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <typename T>
inline constexpr bool is_pair = false;
template <typename A, typename B>
inline constexpr bool is_pair<std::pair<A, B>> = true;
template <typename T>
inline constexpr bool is_section = std::is_class_v<T> && !is_vector<T> && !is_optional<T> && !is_pair<T> &&
                                   !std::is_same_v<T, std::string> && !std::is_same_v<T, Time>;

inline std::string below(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

// Adds to the path of a list the name of its mapping `item`, or its number.
inline std::string item_path(const std::string& path, const nb::handle& item, std::size_t index) {
  const nb::dict d = nb::cast<nb::dict>(item);
  return below(path, d.contains("name") ? std::string(nb::str(d["name"]).c_str()) : std::to_string(index));
}

class ConfigReader {
 public:
  // Throws ConfigError. `elsewhere` are keys that somebody else reads.
  template <typename Section>
  static Section read(const nb::dict& from, const std::string& path,
                      std::initializer_list<const char*> elsewhere = {}) {
    ConfigReader reader;
    Section made;
    reader.section(from, path, made);
    for (const char* key : elsewhere) reader.leaves_.insert(below(path, key));
    reader.find_unread(from, path);
    if (!reader.problems_.empty()) throw ConfigError(std::move(reader.problems_));
    return made;
  }

 private:
  struct Keys {
    ConfigReader& reader;
    nb::dict from;
    const std::string& path;

    template <typename T>
    void operator()(const char* key, T& field) {
      if (!reader.key(from, path, key, field)) reader.problem(below(path, key), "is missing");
    }
    template <typename T>
    void operator()(const char* key, T& field, Optional) {
      reader.key(from, path, key, field);
    }
  };

  template <typename Section>
  void section(const nb::dict& from, const std::string& path, Section& into) {
    sections_.insert(path);
    visit(into, Keys{*this, from, path});
  }

  // False where there is no such key; one with a dot names a key of the section before it.
  template <typename T>
  bool key(const nb::dict& from, const std::string& path, const std::string& name, T& field) {
    const std::size_t dot = name.find('.');
    if (dot != std::string::npos) {
      const std::string first = name.substr(0, dot);
      if (!from.contains(first.c_str()) || !nb::isinstance<nb::dict>(from[first.c_str()])) return false;
      return key(nb::cast<nb::dict>(from[first.c_str()]), below(path, first), name.substr(dot + 1), field);
    }
    if (!from.contains(name.c_str())) return false;
    value(from[name.c_str()], below(path, name), field);
    return true;
  }

  template <typename T>
  void value(const nb::handle& given, const std::string& path, T& field) {
    if constexpr (is_optional<T>) {
      value(given, path, field.emplace());
    } else if constexpr (is_section<T>) {
      if (nb::isinstance<nb::dict>(given)) return section(nb::cast<nb::dict>(given), path, field);
      problem(path, "is not a mapping");
    } else if constexpr (is_vector<T>) {
      list(given, path, field);
    } else {
      leaves_.insert(path);
      scalar(given, path, field);
    }
  }

  template <typename T>
  void list(const nb::handle& given, const std::string& path, std::vector<T>& field) {
    if constexpr (is_section<T>) {
      if (!nb::isinstance<nb::list>(given)) return problem(path, "is not a list");
      sections_.insert(path);
      std::size_t index = 0;
      for (const nb::handle item : nb::cast<nb::list>(given)) {
        if (nb::isinstance<nb::dict>(item)) {
          section(nb::cast<nb::dict>(item), item_path(path, item, index), field.emplace_back());
        } else {
          problem(below(path, std::to_string(index)), "is not a mapping");
        }
        ++index;
      }
    } else {
      leaves_.insert(path);
      if (!nb::try_cast(given, field)) problem(path, "is not a list of such values as it takes");
    }
  }

  template <typename T>
  void scalar(const nb::handle& given, const std::string& path, T& field) {
    if constexpr (std::is_enum_v<T>) {
      static_assert(Named<T>, "the names of this enumeration are missing in kChoices");
      const auto found = nb::isinstance<nb::str>(given) ? find_choice<T>(nb::cast<std::string>(given)) : std::nullopt;
      if (found) return void(field = *found);
      std::string known;
      for (const std::string& name : choice_names<T>()) known.append(known.empty() ? "" : ", ").append(name);
      problem(path, "is none of " + known);
    } else if constexpr (std::is_same_v<T, Time>) {
      std::int64_t ps = 0;
      scalar(given, path, ps);
      field = Time::ps(ps);
    } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (nb::isinstance<nb::int_>(given) && !nb::isinstance<nb::bool_>(given) && nb::try_cast(given, field)) return;
      problem(path, "is not a whole number from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
                        std::to_string(std::numeric_limits<T>::max()));
    } else if (!nb::try_cast(given, field)) {
      problem(path, "has a value of another type than it takes");
    }
  }

  void problem(const std::string& path, const std::string& what) {
    problems_.push_back({path, "'" + path + "' " + what});
  }

  void find_unread(const nb::dict& from, const std::string& path) {
    for (const auto [name, child] : from) {
      const std::string at = below(path, nb::str(name).c_str());
      if (leaves_.contains(at)) continue;
      if (!sections_.contains(at)) {
        problem(at, "is a key that nothing reads: take it out");
      } else if (nb::isinstance<nb::dict>(child)) {
        find_unread(nb::cast<nb::dict>(child), at);
      } else {
        std::size_t index = 0;
        for (const nb::handle item : nb::cast<nb::list>(child)) {
          if (nb::isinstance<nb::dict>(item)) find_unread(nb::cast<nb::dict>(item), item_path(at, item, index));
          ++index;
        }
      }
    }
  }

  std::set<std::string> sections_, leaves_;  // paths that have been read
  std::vector<ConfigProblem> problems_;
};

// Prints a configuration as the mapping that it could be read from, with what it has by default.
class ConfigWriter {
 public:
  template <typename Section>
  static nb::dict write(Section section) {
    nb::dict out;
    visit(section, Keys{out});
    return out;
  }

  template <typename T>
  static nb::object value(const T& field) {
    if constexpr (is_section<T>) {
      return write(field);
    } else if constexpr (std::is_enum_v<T>) {
      return nb::cast(std::string(name_of(field)));
    } else if constexpr (std::is_same_v<T, Time>) {
      return nb::cast(field.ps());
    } else if constexpr (is_vector<T>) {
      nb::list items;
      for (const auto& item : field) items.append(value(item));
      return items;
    } else if constexpr (is_pair<T>) {
      nb::list items;
      items.append(field.first);
      items.append(field.second);
      return items;
    } else {
      return nb::cast(field);
    }
  }

 private:
  struct Keys {
    nb::dict out;

    template <typename T>
    void operator()(const std::string& key, T& field, Optional = {}) {
      const std::size_t dot = key.find('.');
      if (dot != std::string::npos)
        return Keys{nb::cast<nb::dict>(out[key.substr(0, dot).c_str()])}(key.substr(dot + 1), field);
      if constexpr (is_optional<T>) {
        if (field) out[key.c_str()] = value(*field);
      } else {
        out[key.c_str()] = value(field);
      }
    }
  };
};

// Lists a configuration's keys by path, `*` in place of the items of a list: {"default", "optional", "choices" of an
// enumeration}.
class ConfigLister {
 public:
  template <typename Section>
  static nb::dict list(const std::string& path = "") {
    nb::dict out;
    Section section;
    visit(section, Keys<Section>{out, path});
    return out;
  }

 private:
  template <typename Section>
  struct Keys {
    nb::dict out;
    std::string path;

    template <typename T>
    void operator()(const std::string& key, T& field) {
      add(below(path, key), field, false);
    }
    template <typename T>
    void operator()(const std::string& key, T& field, Optional) {
      add(below(path, key), field, true);
    }
    template <typename T>
    void add(const std::string& at, T& field, bool optional) {
      if constexpr (is_optional<T>) {
        add(at, field.emplace(), optional);
      } else if constexpr (is_section<T>) {
        visit(field, Keys<T>{out, at});
      } else if constexpr (is_vector<T>) {
        constexpr bool same_keys = std::is_same_v<typename T::value_type, Section>;  // as those of this section
        if constexpr (same_keys) return;
        if constexpr (is_section<typename T::value_type> && !same_keys)
          return add(below(at, "*"), field.emplace_back(), optional);
        leaf(at, field, optional);
      } else {
        leaf(at, field, optional);
      }
    }
    template <typename T>
    void leaf(const std::string& at, const T& field, bool optional) {
      nb::dict entry;
      entry["default"] = ConfigWriter::value(field);
      entry["optional"] = optional;
      if constexpr (std::is_enum_v<T>) entry["choices"] = choice_names<T>();
      out[at.c_str()] = entry;
    }
  };
};

}  // namespace exanet
