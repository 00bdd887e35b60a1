# SPDX-License-Identifier: Apache-2.0
# The coordinator, the Python module, what runs in ranks, and what the package installs.
# Small folders of the core share a unit: a second to read their headers, and the inline functions that each of them has, are saved.
if(NOT EXANET_CORE)
  foreach(source ${core_sources})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE folder)
    cmake_path(GET folder PARENT_PATH folder)
    if(folder MATCHES "^core/nic(/(messages|bridged|handlers|flow|reductions|ideal|targets|shared_memory))?$")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP nic)
    elseif(folder MATCHES "^core/nic/(ultra_ethernet|pacing)$")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ultra_ethernet)
    elseif(folder MATCHES "^core/network(/(verilated|queue_actions|common))?$")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP network)
    elseif(folder MATCHES "^core/(faults|lofamo|storage|config)$")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP faults)
    elseif(NOT EXANET_SANITIZE AND source MATCHES "/core/network/exanet/(build|zero_load|notes|occupancy|links_down|copies)\\.cpp$")
      # Of the routers, what no path of all packets is in.
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP routers SKIP_UNITY_BUILD_INCLUSION OFF)
    endif()
  endforeach()
endif()

exanet_sources(coordinator_sources runtime/coordinator)
add_library(exanet_coordinator STATIC ${coordinator_sources})
target_include_directories(exanet_coordinator PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/runtime/include)
target_link_libraries(exanet_coordinator PUBLIC exanet_core)
exanet_folder_at_once(exanet_coordinator ${coordinator_sources})
if(NOT EXANET_CORE)
  target_precompile_headers(exanet_coordinator REUSE_FROM exanet_core)
endif()

# Frames between TAP devices: `exanet bridge` runs them.
exanet_sources(bridge_sources runtime/bridge)
add_library(exanet_bridge STATIC ${bridge_sources})
target_include_directories(exanet_bridge PUBLIC ${CMAKE_SOURCE_DIR})
target_link_libraries(exanet_bridge PUBLIC exanet_core)

# Before what is small, for two processors to end together: the bindings are one long unit that nothing but the module waits for.
if(EXANET_PYTHON)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_ROOT)
  find_package(nanobind CONFIG REQUIRED)
  exanet_sources(binding_sources exanet/bindings)
  # nanobind's own library comes as a package of its own, and the module runs on all Python from 3.11 on.
  nanobind_add_module(_core BACKEND_MODULE nanobind_backend STABLE_ABI_VERSION 3.11 ${binding_sources})
  target_link_libraries(_core PRIVATE exanet_coordinator exanet_bridge)
  exanet_folder_at_once(_core ${binding_sources})
  if(NOT EXANET_LTO)
    # Conversions between Python and C++, once a run: this takes a fifth less time to compile than nanobind's level.
    target_compile_options(_core PRIVATE -Og)
  endif()
  install(TARGETS _core LIBRARY DESTINATION exanet COMPONENT python)
endif()

# One shared object carries the user library, the libfabric provider and the virtual clock, so that all three share one state in a rank.
# libfabric loads what ends in "fi.so"; the loader preloads the same file.
find_path(LIBFABRIC_INCLUDE rdma/fabric.h REQUIRED)
exanet_sources(rank_sources runtime/lib runtime/provider runtime/clock runtime/collectives runtime/record runtime/simulated)
add_library(exanet_rank OBJECT ${rank_sources})
target_include_directories(exanet_rank PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/runtime/include ${LIBFABRIC_INCLUDE})
# Preloaded, so its thread-local storage has a place that is known when it is loaded.
target_compile_options(exanet_rank PRIVATE -ftls-model=initial-exec)
add_library(exanet-fi SHARED)
target_link_libraries(exanet-fi PRIVATE exanet_rank dl pthread)
set_target_properties(exanet-fi PROPERTIES PREFIX "lib" OUTPUT_NAME "exanet-fi")
# Its calls go through many small functions of other files.
set_target_properties(exanet_rank exanet-fi PROPERTIES INTERPROCEDURAL_OPTIMIZATION_RELEASE ON)

# Preloaded as well where the MPI has sessions, lists of large counts, persistent collectives, or fault tolerance, where the
# program uses OpenSHMEM, and where its sockets go over the simulated network.
foreach(beside sessions lists persistent tolerance shmem sockets gpu)
  exanet_sources(beside_sources runtime/${beside})
  add_library(exanet-${beside} SHARED ${beside_sources})
  target_include_directories(exanet-${beside} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/runtime/include)
  target_link_libraries(exanet-${beside} PRIVATE exanet-fi)
  set_target_properties(exanet-${beside} PROPERTIES INSTALL_RPATH "$ORIGIN")
endforeach()

# Preloaded into programs that run under an ordinary MPI (`exanet record`): the recorder and the wrappers of the MPI calls, with the host's clocks in
# the place of virtual time; and the wrappers of calls that not every MPI has. They export nothing else.
exanet_sources(outside_sources runtime/outside runtime/record)
add_library(exanet-record SHARED ${outside_sources} runtime/lib/host.c runtime/clock/calls.c runtime/clock/find.c)
target_link_libraries(exanet-record PRIVATE dl pthread)
foreach(beside lists persistent)
  exanet_sources(beside_sources runtime/${beside})
  add_library(exanet-record-${beside} SHARED ${beside_sources})
  target_link_libraries(exanet-record-${beside} PRIVATE exanet-record)
endforeach()
foreach(outside exanet-record exanet-record-lists exanet-record-persistent)
  target_include_directories(${outside} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/runtime/include)
  target_link_options(${outside} PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/runtime/outside/exports.map)
  set_target_properties(${outside} PROPERTIES INSTALL_RPATH "$ORIGIN" LINK_DEPENDS ${CMAKE_SOURCE_DIR}/runtime/outside/exports.map)
endforeach()

# Wrappers around calls of another library: level 3 takes twice the time to compile.
if(NOT EXANET_LTO)
  foreach(wrappers exanet-sessions exanet-lists exanet-persistent exanet-tolerance exanet-shmem exanet-record exanet-record-lists exanet-record-persistent)
    target_compile_options(${wrappers} PRIVATE -O1)
  endforeach()
endif()

# Starts one rank and reports how it ended.
add_executable(exanet-exec runtime/exec/exanet_exec.c runtime/exec/ask.c runtime/exec/sweep.c)
target_include_directories(exanet-exec PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/runtime/include)

# A plugin of QEMU, for ranks on emulated processors. QEMU itself has what it calls.
exanet_sources(cpu_sources runtime/cpu)
list(FILTER cpu_sources EXCLUDE REGEX "/plugin\\.c$")
add_library(exanet_cpu OBJECT ${cpu_sources})
add_library(exanet-cpu MODULE runtime/cpu/plugin.c)
target_link_libraries(exanet-cpu PRIVATE exanet_cpu)
foreach(part exanet_cpu exanet-cpu)
  target_include_directories(${part} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/runtime/include)
endforeach()
# From these sources exanet/cpu builds what is preloaded into programs for other processors.
install(TARGETS exanet-cpu LIBRARY DESTINATION exanet/lib COMPONENT python)
foreach(folder lib provider clock collectives record simulated sessions lists persistent tolerance include)
  install(DIRECTORY runtime/${folder} DESTINATION exanet/guest/runtime COMPONENT python FILES_MATCHING PATTERN "*.c" PATTERN "*.h" PATTERN "*_test.c" EXCLUDE)
endforeach()
install(DIRECTORY core/ DESTINATION exanet/guest/core COMPONENT python FILES_MATCHING PATTERN "*.h")

# Hosts packed ranks. Its constructor comes before all others, and does not return.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(worker_sources worker.c worker_simulator.c workers.c interrupts.c registers.c)
  list(TRANSFORM worker_sources PREPEND runtime/exec/)
  add_library(exanet-host SHARED runtime/exec/host.c runtime/exec/load.c runtime/exec/sweep.c ${worker_sources})
  target_include_directories(exanet-host PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/runtime/include)
  # They run with any rank's thread-local storage, so nothing may look for a guard there.
  set_source_files_properties(${worker_sources} PROPERTIES COMPILE_OPTIONS
                              "-fno-stack-protector;-fno-sanitize=all;-fcf-protection=none;-O2")
  target_link_options(exanet-host PRIVATE -Wl,-z,initfirst)
  # The simulator for that host, with a C++ library of its own: the program may bring another one.
  add_library(exanet-simulator SHARED runtime/hosted/simulator.cpp)
  target_link_libraries(exanet-simulator PRIVATE exanet_coordinator)
  if(NOT EXANET_CORE)
    target_precompile_headers(exanet-simulator REUSE_FROM exanet_core)
  endif()
  target_link_options(exanet-simulator PRIVATE -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL)
  install(TARGETS exanet-host exanet-simulator LIBRARY DESTINATION exanet/lib COMPONENT python)
endif()

install(TARGETS exanet-fi exanet-sessions exanet-lists exanet-persistent exanet-tolerance exanet-shmem exanet-sockets exanet-gpu exanet-record exanet-record-lists exanet-record-persistent LIBRARY DESTINATION exanet/lib COMPONENT python)
install(TARGETS exanet-exec RUNTIME DESTINATION exanet/lib COMPONENT python)
install(DIRECTORY machines/ DESTINATION exanet/machines COMPONENT python FILES_MATCHING PATTERN "*.yaml")
install(DIRECTORY runtime/include/exanet DESTINATION exanet/include COMPONENT python)
# The manual pages: `man` finds them beside the environment's bin.
if(SKBUILD_DATA_DIR)
  install(DIRECTORY docs/man/ DESTINATION ${SKBUILD_DATA_DIR}/share/man/man1 COMPONENT python FILES_MATCHING PATTERN "*.1")
endif()
# The gateware's sources, from which exanet/gateware/build.py builds Verilated models on first use.
install(DIRECTORY core/spec DESTINATION exanet/hdl/core COMPONENT python FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES core/network/line_faults.hpp DESTINATION exanet/hdl/core/network COMPONENT python)
install(FILES core/engine/random.hpp DESTINATION exanet/hdl/core/engine COMPONENT python)
install(DIRECTORY gateware DESTINATION exanet/hdl COMPONENT python
        FILES_MATCHING PATTERN "*.sv" PATTERN "*.f" PATTERN "*.vlt" PATTERN "*.h" PATTERN "*.hpp" PATTERN "*.cpp" PATTERN "synth.py" PATTERN "levels.py" PATTERN "sources.py"
        PATTERN "*_test.cpp" EXCLUDE)
