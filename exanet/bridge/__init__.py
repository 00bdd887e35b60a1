# SPDX-License-Identifier: Apache-2.0
"""`exanet bridge`: nodes of a simulated machine as network interfaces of Linux, which exchange real frames over it
(docs/bridge.md)."""
