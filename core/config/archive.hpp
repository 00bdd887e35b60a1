// SPDX-License-Identifier: Apache-2.0
// Writes structs as bytes, and reads them again in another process of the same build: whatever has a visit()
// (core/config/visit.hpp), and records that can be copied as they lie.
//
// Contract: what is read in the order in which it was written is equal to it. Reading throws std::length_error where
// the bytes end too early. No version and no names: both ends are one build.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/config/visit.hpp"

namespace exanet {

namespace archive {
struct AnyVisitor {
  template <typename T>
  void operator()(const char*, T&) const {}
  template <typename T>
  void operator()(const char*, T&, Optional) const {}
};
template <typename T>
concept Visited = requires(T& field, AnyVisitor v) { visit(field, v); };
}  // namespace archive

class ArchiveWriter {
 public:
  template <typename T>
  void operator()(const char*, T& field) {
    write(field);
  }
  template <typename T>
  void operator()(const char*, T& field, Optional) {
    write(field);
  }

  template <typename T>
  void write(T& field) {
    if constexpr (archive::Visited<T>) {
      visit(field, *this);
    } else {
      static_assert(std::is_trivially_copyable_v<T>, "such a field needs a visit()");
      append(&field, sizeof field);
    }
  }
  void write(std::string& text) { list(text); }
  template <typename T>
  void write(std::vector<T>& items) {
    if constexpr (!archive::Visited<T> && std::is_trivially_copyable_v<T>) {
      list(items);
    } else {
      size(items.size());
      for (T& item : items) write(item);
    }
  }
  template <typename T>
  void write(std::optional<T>& field) {
    size(field ? 1 : 0);
    if (field) write(*field);
  }
  template <typename A, typename B>
  void write(std::pair<A, B>& field) {
    write(field.first);
    write(field.second);
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  template <typename List>
  void list(List& items) {
    size(items.size());
    append(items.data(), items.size() * sizeof(items[0]));
  }
  void size(std::uint64_t n) { append(&n, sizeof n); }
  void append(const void* from, std::size_t n) {
    const auto* at = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), at, at + n);
  }
  std::vector<std::byte> bytes_;
};

class ArchiveReader {
 public:
  ArchiveReader(const std::byte* from, std::size_t bytes) : at_(from), left_(bytes) {}

  template <typename T>
  void operator()(const char*, T& field) {
    read(field);
  }
  template <typename T>
  void operator()(const char*, T& field, Optional) {
    read(field);
  }

  template <typename T>
  void read(T& field) {
    if constexpr (archive::Visited<T>)
      visit(field, *this);
    else
      take(&field, sizeof field);
  }
  void read(std::string& text) { list(text); }
  template <typename T>
  void read(std::vector<T>& items) {
    if constexpr (!archive::Visited<T> && std::is_trivially_copyable_v<T>) {
      list(items);
    } else {
      items.clear();
      for (std::uint64_t n = size(); n > 0; --n) read(items.emplace_back());
    }
  }
  template <typename T>
  void read(std::optional<T>& field) {
    if (size() > 0)
      read(field.emplace());
    else
      field.reset();
  }
  template <typename A, typename B>
  void read(std::pair<A, B>& field) {
    read(field.first);
    read(field.second);
  }

 private:
  template <typename List>
  void list(List& items) {
    const std::uint64_t n = size();
    if (n > left_ / sizeof(items[0])) throw std::length_error("an archive ends too early");
    items.resize(n);
    take(items.data(), n * sizeof(items[0]));
  }
  std::uint64_t size() {
    std::uint64_t n = 0;
    take(&n, sizeof n);
    return n;
  }
  void take(void* to, std::size_t n) {
    if (n > left_) throw std::length_error("an archive ends too early");
    if (n > 0) std::memcpy(to, at_, n);
    at_ += n;
    left_ -= n;
  }
  const std::byte* at_;
  std::size_t left_;
};

}  // namespace exanet
