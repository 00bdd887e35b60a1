/* SPDX-License-Identifier: Apache-2.0
 * A file that grows by records, whole at any moment: what a killed process has written stays.
 *
 * The file is mapped a piece at a time, its space taken beforehand, so that a full disk is an error of a call and
 * not a signal. A record's code is stored last. */
#ifndef EXANET_RECORD_STREAM_H
#define EXANET_RECORD_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes the file. 0, or an errno: EEXIST where there is one already, which may be mapped by whoever writes it. */
int exanet_stream_open(const char *path, const void *header, size_t bytes);
/* Cuts the file where its records end. */
void exanet_stream_close(void);

/* A record: begin(), its fields, end(), which returns 0, or an errno after which the stream is closed. */
void exanet_stream_begin(uint8_t code);
void exanet_stream_put(uint64_t field);
/* The fields that the record has so far, as they are stored; valid until the next of these calls. */
const uint8_t *exanet_stream_fields(size_t *bytes);
void exanet_stream_put_fields(const uint8_t *fields, size_t bytes);
int exanet_stream_end(void);
#endif
