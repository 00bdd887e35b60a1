// SPDX-License-Identifier: Apache-2.0
// Who comes to know of the faults of a run, and when, by LO|FA|MO.
//
// Problem: what a machine does about a fault begins when somebody knows of it, and that depends on where it strikes,
// and in which phase of the watchdogs' periods.
//
// Model: the plan of a run is known, so its faults go through Awareness before the run; the phases are drawn. A node
// knows of a change when its facts say so of all links that the change takes down or up, or of the host or interface.
// The master is a node like the others, or hears by a network of its own what each node has found itself. What routes
// follow is the master's view, link by link.
//
// Limits: facts meet no data on their way, and data no facts: they are three words each, of the highest priority.
// Losses and slow links are not noticed. A node that facts do not reach gives up what it waits for when they have
// settled. Nodes are those of direct networks, with a host, an interface and a router each.
#pragma once

#include "core/faults/noticed.hpp"
#include "core/faults/schedule.hpp"

namespace exanet::lofamo {

// By LO|FA|MO where the schedule has it, otherwise by its constants. Throws ConfigError as check_notice() does.
NoticedFaults notice(const FaultSchedule& schedule, const FaultPlan& plan, const Topology& shape);

// Throws ConfigError where LO|FA|MO cannot watch this shape or plan, by the schedule's key: `faults.lofamo.KEY`.
void check_notice(const FaultSchedule& schedule, const FaultPlan& plan, const Topology& shape);

}  // namespace exanet::lofamo
