// SPDX-License-Identifier: Apache-2.0
// Flows on a torus in SimGrid's flow model, all started at once: what bench/flows.py compares with. It reads a line `X
// Y Z RATE` (sides, bytes a second of a link), then a line `SRC DST BYTES` for each flow, and prints `flows COUNT CPU_S
// LAST_S MEAN_S`.
//
// CM02 is SimGrid's plain max-min fair sharing: no factors of bandwidth or latency, no cross traffic, no TCP window.
#include <sys/resource.h>

#include <cstdio>
#include <string>
#include <vector>

#include "simgrid/s4u.hpp"

namespace sg4 = simgrid::s4u;

static double cpu_s() {
  rusage use;
  getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_utime.tv_sec) + static_cast<double>(use.ru_utime.tv_usec) * 1e-6;
}

int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  sg4::Engine::set_config("network/model:CM02");
  sg4::Engine::set_config("network/crosstraffic:0");
  sg4::Engine::set_config("network/TCP-gamma:0");
  unsigned long x, y, z, src, dst, bytes;
  double rate;
  if (std::scanf("%lu %lu %lu %lf", &x, &y, &z, &rate) != 4) return 2;
  sg4::ClusterCallbacks callbacks([](sg4::NetZone* zone, const std::vector<unsigned long>&, unsigned long id) {
    const auto* host = zone->create_host("node-" + std::to_string(id), 1e9)->seal();
    return std::make_pair(host->get_netpoint(), static_cast<simgrid::kernel::routing::NetPoint*>(nullptr));
  });
  sg4::create_torus_zone("torus", engine.get_netzone_root(), {x, y, z}, callbacks, rate, 0,
                         sg4::Link::SharingPolicy::SPLITDUPLEX)
      ->seal();
  struct Flow {
    unsigned long src, dst, bytes;
  };
  std::vector<Flow> flows;
  while (std::scanf("%lu %lu %lu", &src, &dst, &bytes) == 3) flows.push_back({src, dst, bytes});
  const auto host = [](unsigned long id) { return sg4::Host::by_name("node-" + std::to_string(id)); };
  double sum = 0, last = 0;
  sg4::Actor::create("main", host(0), [&] {
    std::vector<sg4::CommPtr> open;
    for (const Flow& flow : flows) open.push_back(sg4::Comm::sendto_async(host(flow.src), host(flow.dst), flow.bytes));
    while (!open.empty()) {
      const ssize_t done = sg4::Comm::wait_any(open);
      last = sg4::Engine::get_clock();
      sum += last;
      open.erase(open.begin() + done);
    }
  });
  const double before = cpu_s();
  engine.run();
  std::printf("flows %zu %.6f %.9f %.9f\n", flows.size(), cpu_s() - before, last,
              sum / static_cast<double>(flows.size()));
}
