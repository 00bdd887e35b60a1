// SPDX-License-Identifier: Apache-2.0
// What the parts of a reduction unit hand each other.
package ni_reduce_pkg;
  localparam int unsigned Trees = 16;
  localparam int unsigned Branches = 8;
  localparam int unsigned AddLatency = 8;  // of ni_float_add

  typedef logic [3:0] tree_t;
  typedef logic [2:0] branch_t;

  // What all parts of a reduction have to agree in.
  typedef struct packed {
    logic [9:0] bytes;
    exanet_pkg::reduce_type_e element;
    exanet_pkg::reduce_operation_e operation;
  } shape_t;

  // A tree between two steps.
  typedef enum logic [1:0] { Gather, Combine, Await, Broken } phase_e;
  typedef struct packed {
    phase_e phase;  // gathers parts, they are being combined, the sum has gone up, or it has failed for good
    logic [Branches-1:0] come;
    logic begun;  // a reduction has ended: its result may be asked for again
    logic [15:0] round;  // reductions that have ended
    shape_t shape;  // of the parts that have come
    logic [15:0] age;  // scans since the first of them, and one
    logic [16:0] since;  // scans since the sum went up, and one
    logic [2:0] backoff;
  } state_t;

  // Parts to be combined.
  typedef struct packed {
    tree_t tree;
    logic [Branches-1:0] branches;
    shape_t shape;
  } job_t;

  // What neighbours and processes are to be notified of about a tree, and who.
  typedef struct packed {
    logic [23:0] number;
    logic [9:0] pdid;
    shape_t shape;
    logic [3:0] reason;
    logic partial;  // the sum of this node's parts, or else the result that has come
  } letter_t;
  typedef struct packed {
    logic up;
    logic [Branches-1:0] down;
    logic [Branches-1:0] locals;
  } targets_t;

  // A packet, when it has been taken in.
  typedef struct packed {
    tree_t tree;
    branch_t branch;
    logic result;  // or a part
    logic [23:0] number;
    logic [9:0] pdid;
    logic [3:0] reason;
    shape_t shape;
    logic kept;  // its vector has been written
  } arrival_t;

  function automatic logic [5:0] words_of(logic [9:0] bytes);
    return 6'((bytes + 10'd15) >> 4);
  endfunction

  function automatic logic legal(shape_t shape);
    logic wide, float;
    wide = shape.element == exanet_pkg::ReduceTypeInt64 || shape.element == exanet_pkg::ReduceTypeUint64 ||
        shape.element == exanet_pkg::ReduceTypeFloat64;
    float = shape.element == exanet_pkg::ReduceTypeFloat32 || shape.element == exanet_pkg::ReduceTypeFloat64;
    return shape.bytes <= 10'd512 && shape.bytes[1:0] == '0 && !(wide && shape.bytes[2]) && shape.element <= exanet_pkg::ReduceTypeFloat64 &&
        shape.operation <= (float ? exanet_pkg::ReduceOperationMax : exanet_pkg::ReduceOperationXor);
  endfunction
endpackage
