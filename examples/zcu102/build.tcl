# SPDX-License-Identifier: Apache-2.0
# Builds a bitstream of zcu102.sv with Vivado, from the project's root:  vivado -mode batch -source examples/zcu102/build.tcl
# It has not been run: no Vivado was at hand. Names of cores and of their settings are those of public designs and of
# PG182, PG201 and PG021; expect to put some right for your version. Everything is written below build/zcu102.
set part xczu9eg-ffvb1156-2-e
create_project zcu102 build/zcu102 -part $part -force
set_property board_part [lindex [get_board_parts *zcu102*] end] [current_project]
set list [open gateware/files.f]
add_files [lsearch -all -inline [split [read $list] "\n"] *.sv]
close $list
add_files examples/zcu102/zcu102.sv
add_files -fileset constrs_1 examples/zcu102/zcu102.xdc
read_xdc -ref exanet_phy gateware/constraints/exanet_phy.xdc

# The transceiver: 10.3125 Gb/s, raw, 64 bits, its clocks and resets in the core, QPLL0 from the reference clock.
create_ip -name gtwizard_ultrascale -vendor xilinx.com -library ip -module_name zcu102_gth
set_property -dict {
  CONFIG.CHANNEL_ENABLE X1Y12 CONFIG.TX_MASTER_CHANNEL X1Y12 CONFIG.RX_MASTER_CHANNEL X1Y12
  CONFIG.TX_LINE_RATE 10.3125 CONFIG.RX_LINE_RATE 10.3125 CONFIG.TX_REFCLK_FREQUENCY 156.25 CONFIG.RX_REFCLK_FREQUENCY 156.25
  CONFIG.TX_DATA_ENCODING RAW CONFIG.RX_DATA_DECODING RAW CONFIG.TX_USER_DATA_WIDTH 64 CONFIG.RX_USER_DATA_WIDTH 64
  CONFIG.TX_INT_DATA_WIDTH 32 CONFIG.RX_INT_DATA_WIDTH 32 CONFIG.FREERUN_FREQUENCY 100 CONFIG.LOCATE_COMMON CORE
  CONFIG.LOCATE_RESET_CONTROLLER CORE CONFIG.LOCATE_TX_USER_CLOCKING CORE CONFIG.LOCATE_RX_USER_CLOCKING CORE
} [get_ips zcu102_gth]

# The processors: registers of the node and of the DMA engine on M_AXI_HPM0_FPD, memory by S_AXI_HP0_FPD, interrupts by
# pl_ps_irq0.
create_bd_design zcu102_system
create_bd_cell -type ip -vlnv xilinx.com:ip:zynq_ultra_ps_e ps
apply_bd_automation -rule xilinx.com:bd_rule:zynq_ultra_ps_e -config {apply_board_preset 1} [get_bd_cells ps]
set_property -dict {CONFIG.PSU__USE__M_AXI_GP0 1 CONFIG.PSU__USE__M_AXI_GP1 0 CONFIG.PSU__USE__S_AXI_GP2 1 CONFIG.PSU__USE__IRQ0 1} [get_bd_cells ps]
create_bd_cell -type ip -vlnv xilinx.com:ip:axi_dma dma
set_property -dict {
  CONFIG.c_include_sg 1 CONFIG.c_sg_include_stscntrl_strm 0 CONFIG.c_m_axi_mm2s_data_width 128 CONFIG.c_m_axis_mm2s_tdata_width 128
  CONFIG.c_m_axi_s2mm_data_width 128 CONFIG.c_include_mm2s_dre 1 CONFIG.c_include_s2mm_dre 1
} [get_bd_cells dma]
create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect registers
set_property -dict {CONFIG.NUM_SI 1 CONFIG.NUM_MI 2} [get_bd_cells registers]
create_bd_cell -type ip -vlnv xilinx.com:ip:smartconnect memory
set_property -dict {CONFIG.NUM_SI 3 CONFIG.NUM_MI 1} [get_bd_cells memory]
create_bd_cell -type ip -vlnv xilinx.com:ip:xlconcat interrupts
set_property CONFIG.NUM_PORTS 3 [get_bd_cells interrupts]
create_bd_port -dir O -type clk pl_clk_o
create_bd_port -dir O -type rst pl_resetn_o
create_bd_port -dir I -type clk -freq_hz 156250000 core_clk_i
create_bd_port -dir I -type rst core_resetn_i
create_bd_port -dir I -type intr interrupt_i
create_bd_intf_port -mode Master -vlnv xilinx.com:interface:aximm_rtl:1.0 m_axil
set_property -dict {CONFIG.PROTOCOL AXI4LITE CONFIG.ADDR_WIDTH 10 CONFIG.DATA_WIDTH 32} [get_bd_intf_ports m_axil]
create_bd_intf_port -mode Master -vlnv xilinx.com:interface:axis_rtl:1.0 mm2s
create_bd_intf_port -mode Slave -vlnv xilinx.com:interface:axis_rtl:1.0 s2mm
set_property -dict {CONFIG.TDATA_NUM_BYTES 16 CONFIG.HAS_TKEEP 1 CONFIG.HAS_TLAST 1} [get_bd_intf_ports s2mm]
set_property CONFIG.ASSOCIATED_BUSIF {m_axil:mm2s:s2mm} [get_bd_ports core_clk_i]
foreach {one other} {
  ps/M_AXI_HPM0_FPD registers/S00_AXI  registers/M00_AXI dma/S_AXI_LITE  dma/M_AXI_MM2S memory/S00_AXI  dma/M_AXI_S2MM memory/S01_AXI
  dma/M_AXI_SG memory/S02_AXI  memory/M00_AXI ps/S_AXI_HP0_FPD
} { connect_bd_intf_net [get_bd_intf_pins $one] [get_bd_intf_pins $other] }
connect_bd_intf_net [get_bd_intf_pins registers/M01_AXI] [get_bd_intf_ports m_axil]
connect_bd_intf_net [get_bd_intf_pins dma/M_AXIS_MM2S] [get_bd_intf_ports mm2s]
connect_bd_intf_net [get_bd_intf_ports s2mm] [get_bd_intf_pins dma/S_AXIS_S2MM]
connect_bd_net [get_bd_ports pl_clk_o] [get_bd_pins ps/pl_clk0]
connect_bd_net [get_bd_ports pl_resetn_o] [get_bd_pins ps/pl_resetn0]
foreach pin {ps/maxihpm0_fpd_aclk ps/saxihp0_fpd_aclk dma/s_axi_lite_aclk dma/m_axi_sg_aclk dma/m_axi_mm2s_aclk dma/m_axi_s2mm_aclk registers/aclk memory/aclk} {
  connect_bd_net [get_bd_ports core_clk_i] [get_bd_pins $pin]
}
foreach pin {dma/axi_resetn registers/aresetn memory/aresetn} { connect_bd_net [get_bd_ports core_resetn_i] [get_bd_pins $pin] }
connect_bd_net [get_bd_ports interrupt_i] [get_bd_pins interrupts/In0]
connect_bd_net [get_bd_pins dma/mm2s_introut] [get_bd_pins interrupts/In1]
connect_bd_net [get_bd_pins dma/s2mm_introut] [get_bd_pins interrupts/In2]
connect_bd_net [get_bd_pins interrupts/dout] [get_bd_pins ps/pl_ps_irq0]
assign_bd_address
validate_bd_design
save_bd_design
# Without a wrapper its module has the block design's own name, which zcu102.sv uses.
generate_target all [get_files zcu102_system.bd]

set_property top zcu102 [current_fileset]
launch_runs impl_1 -to_step write_bitstream -jobs 4
wait_on_run impl_1
open_run impl_1
report_timing_summary -file build/zcu102/timing.txt
report_utilization -hierarchical -file build/zcu102/utilization.txt
