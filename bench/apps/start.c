/* SPDX-License-Identifier: Apache-2.0
 * Begins and ends: what a run takes before and after its program's work. */
#include "app.h"

int main(int argc, char **argv) {
  struct app app = app_begin(argc, argv);
  return app_end(&app, 1);
}
