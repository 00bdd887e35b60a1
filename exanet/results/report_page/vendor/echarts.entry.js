// SPDX-License-Identifier: Apache-2.0
// What the report page takes from Apache ECharts; README.md beside this file says how the minified file is made from it.
import { BarChart, HeatmapChart, LineChart, LinesChart, ScatterChart } from "echarts/charts";
import { DataZoomComponent, GridComponent, TooltipComponent, VisualMapComponent } from "echarts/components";
import * as core from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";

core.use([BarChart, HeatmapChart, LineChart, LinesChart, ScatterChart, DataZoomComponent, GridComponent, TooltipComponent, VisualMapComponent, CanvasRenderer]);
export const init = core.init;
