# SPDX-License-Identifier: Apache-2.0
"""Traces in OTF2, the format of Score-P: written as Score-P writes them, and read. Needs the package otf2, with the
format's library.

Sources: the documentation of OTF2 3.2 for records, that of Score-P 8 for which call leaves which of them, in which
order.
"""
