// SPDX-License-Identifier: Apache-2.0
// What transfers of the Verilated network interfaces and their model are compared by: a case, and both that run it.
#pragma once

#include "gateware/ni/tb/transfers_gateware.hpp"
#include "gateware/ni/tb/transfers_model.hpp"
