// SPDX-License-Identifier: Apache-2.0
// The page of jobs that ran to their end: time of each job, latency of its messages, and use of the network.

const JOB_COLUMNS = [
  ["job", String], ["ranks", formatCount], ["rounds", formatCount], ["priority", String], ["finished", nanoseconds], ["first rank", nanoseconds],
  ["Gb/s", threeDigits], ["messages", formatCount], ["mean message", nanoseconds], ["median", nanoseconds], ["99 %", nanoseconds],
  ["fairness", (share) => share.toFixed(3)],
];
const TINTS = ["one", "two", "three"];

// Cumulative distribution of message latency, a curve for each job. rows: [job, lower_ns, upper_ns, count]
function messageCurves(jobs, rows) {
  return (place) => ({
    grid: { left: 70, right: 20, top: 20, bottom: 50 },
    xAxis: logAxis(place, rows.map(([, , upper]) => upper / 1e3), { name: "time from posting a message to its last word (µs)", nameGap: 30 }),
    yAxis: axis({ type: "value", name: "share of messages", nameGap: 45, min: 0, max: 1 }),
    tooltip: tooltip((item) => tip(item.seriesName, [["within", nanoseconds(item.value[0] * 1e3)], ["messages", formatPercent(item.value[1])]]), { trigger: "item" }),
    series: jobs.map(([program], number) => {
      const own = rows.filter(([job]) => job === number);
      const all = own.reduce((sum, row) => sum + row[3], 0);
      let seen = 0;
      const data = own.map(([, , upper, count]) => [upper / 1e3, (seen += count) / all]);
      const tint = TINTS[number % TINTS.length];
      return { name: `${number}: ${program}`, type: "line", step: "end", data, symbolSize: 4, itemStyle: { color: colour(tint) }, lineStyle: { color: colour(tint) } };
    }),
  });
}

function showJobs() {
  const data = JSON.parse(document.getElementById("data").textContent);
  document.querySelector("h1").textContent = data.title;
  const names = data.jobs.map(([program], number) => [TINTS[number % TINTS.length], `${number}: ${program}`]);
  document.querySelector("main").append(...[
    section("Jobs", "All jobs begin at the same time. A job is finished when its last rank is. The time of a message runs from its posting to its last word.",
      bar([], [csvButton("jobs", JOB_COLUMNS.map(([name]) => name), data.jobs)]), table(JOB_COLUMNS, data.jobs)),
    section("Messages", null, bar(legend(names), []), chartIn(320, messageCurves(data.jobs, data.messages))),
    networksSection(data.networks, data.drawings),
    energySection(data.energy, false),
    section("The run", null, element("pre", {}, JSON.stringify(data.run, null, 2)))].filter((part) => part !== null));
  followTheme();
}

showJobs();
