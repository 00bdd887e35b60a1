// SPDX-License-Identifier: Apache-2.0
// The Python face of LO|FA|MO: awareness times of drawn faults.
#include "core/lofamo/study.hpp"
#include "core/routing/make_topology.hpp"
#include "exanet/bindings/convert.hpp"

namespace exanet {

using namespace nanobind::literals;

namespace {

nb::dict spread(const lofamo::Spread& of) {
  nb::dict d;
  const bool any = of.count > 0;
  d["least_cycles"] = any ? nb::cast(of.least) : nb::none();
  d["mean_cycles"] = any ? nb::cast(of.sum / static_cast<double>(of.count)) : nb::none();
  d["most_cycles"] = any ? nb::cast(of.most) : nb::none();
  return d;
}

}  // namespace

void bind_awareness(nb::module_& m) {
  m.def(
      "awareness",
      [](const nb::dict& topology, std::int64_t watchdog, std::int64_t beat, std::int64_t silence,
         std::int64_t interval, std::int64_t line, std::int64_t response, const std::string& kind, std::uint32_t faults,
         std::uint32_t draws, std::uint64_t seed) {
        const auto made = make_topology(topology_spec(topology));
        const lofamo::StudyConfig config{
            {watchdog, beat, silence, interval, line, response}, lofamo::fault_kind_of(kind), faults, draws, seed};
        lofamo::Study study;
        {
          const nb::gil_scoped_release release;
          study = lofamo::study(*made, config);
        }
        nb::dict d;
        d["local"] = spread(study.local);
        d["neighbours"] = spread(study.neighbours);
        d["global"] = spread(study.global);
        d["unaware"] = study.unaware;
        d["misjudged"] = study.misjudged;
        d["unseen"] = study.unseen;
        d["cut_off"] = study.cut_off;
        d["packets"] = study.packets;
        return d;
      },
      "topology"_a, nb::kw_only(), "watchdog_cycles"_a, "beat_cycles"_a, "silence_cycles"_a, "interval_cycles"_a,
      "line_cycles"_a, "response_cycles"_a, "kind"_a, "faults"_a, "draws"_a, "seed"_a);
}

}  // namespace exanet
