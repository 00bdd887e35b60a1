// SPDX-License-Identifier: Apache-2.0
// A region of hybrid.c by the threads of C++.
#include <thread>
#include <vector>

extern "C" void by_std_threads(int count, void (*function)(int, int), const int *times) {
  std::vector<std::thread> made;
  for (int i = 1; i < count; ++i) made.emplace_back(function, i, times[i]);
  function(0, times[0]);
  for (std::thread &thread : made) thread.join();
}
