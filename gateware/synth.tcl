# SPDX-License-Identifier: Apache-2.0
# What FuseSoC's target `synth` has Yosys do: the sources through its slang front end, which knows SystemVerilog, to a netlist for UltraScale+.
# Edalize's own script reads each file by itself with the Verilog front end, which does not.
yosys -import
source edalize_yosys_procs.tcl
set sources {}
proc read_verilog {dialect file} { lappend ::sources $file }
read_files
read_slang --threads 1 -DSYNTHESIS --top $top {*}$sources
scratchpad -set abc9.verify false
synth_xilinx -family xcup -flatten -noiopad -noclkbuf -top $top
write_json $name.json
stat
