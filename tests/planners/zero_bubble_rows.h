// What the solver of the zero-bubble papers' authors finds (sail-sg/zero-bubble, commit 39f2c18
// and, with the same figures, 3fd87fd): forward, input and weight gradient of 10 each, 1 a
// transfer, and on a V chunks of that size. Its own objective is the longest span of a device;
// makespan is when the last device ends. Peaks are in chunks. Seconds are CPU seconds of its Python
// code, on a machine of two cores like the one that this was written on, but not at the same time.
#pragma once

#include <cstdint>

namespace trainyard {

struct ZeroBubbleRow {
  const char* name;
  int devices, microbatches, chunks;
  bool split;
  std::int64_t limit;  // of each device, in chunks: the one it was given, or what its order peaks
                       // at
  std::int64_t makespan, longest_span;
  double seconds;
};

constexpr ZeroBubbleRow kZeroBubbleRows[] = {
    {"zb-h2", 4, 12, 1, true, 8, 393, 366, .0020},
    {"zb-h1", 4, 12, 1, true, 4, 402, 402, .0018},
    {"zb-h2", 8, 24, 1, true, 16, 797, 728, .0072},
    {"zb-h1", 8, 24, 1, true, 8, 818, 818, .0070},
    {"zb-h2", 8, 64, 1, true, 16, 1997, 1928, .0195},
    {"zb-h1", 8, 64, 1, true, 8, 2018, 2018, .0202},
    {"zb-h2", 8, 192, 1, true, 16, 5837, 5768, .0615},
    {"zb-h1", 8, 192, 1, true, 8, 5858, 5858, .0585},
    {"zb-h2", 16, 64, 1, true, 32, 2085, 1940, .0401},
    {"zb-h1", 16, 64, 1, true, 16, 2130, 2130, .0408},
    {"zb-h2", 16, 192, 1, true, 32, 5925, 5780, .1245},
    {"zb-h1", 16, 192, 1, true, 16, 5970, 5970, .1179},
    {"zb-h2", 32, 256, 1, true, 64, 8021, 7732, .3640},
    {"zb-h1", 32, 256, 1, true, 32, 8114, 8114, .3670},
    {"zbv", 4, 12, 2, true, 8, 765, 734, .0031},
    {"v-min", 4, 12, 2, true, 4, 886, 886, .0074},
    {"v-half", 4, 12, 2, true, 6, 792, 792, .0118},
    {"v1f1b", 4, 12, 2, false, 6, 918, 918, .0009},
    {"zbv", 8, 24, 2, true, 16, 1545, 1480, .0137},
    {"v-min", 8, 24, 2, true, 8, 1856, 1856, .0508},
    {"v-half", 8, 24, 2, true, 10, 1658, 1658, .0825},
    {"v1f1b", 8, 24, 2, false, 12, 1870, 1870, .0033},
    {"zbv", 8, 64, 2, true, 16, 3945, 3880, .0379},
    {"v-min", 8, 64, 2, true, 8, 4464, 4464, .1388},
    {"v-half", 8, 64, 2, true, 10, 4058, 4058, .2179},
    {"v1f1b", 8, 64, 2, false, 12, 4430, 4430, .0083},
    {"zbv", 8, 192, 2, true, 16, 11625, 11560, .1127},
    {"v-min", 8, 192, 2, true, 8, 12810, 12810, .4254},
    {"v-half", 8, 192, 2, true, 10, 11738, 11738, .6302},
    {"v1f1b", 8, 192, 2, false, 12, 12622, 12622, .0234},
    {"zbv", 16, 64, 2, true, 32, 4065, 3928, .0793},
    {"v-min", 16, 64, 2, true, 12, 4842, 4842, .5278},
    {"v-half", 16, 64, 2, true, 18, 4352, 4352, .7795},
    {"v1f1b", 16, 64, 2, false, 22, 4958, 4958, .0176},
    {"zbv", 16, 192, 2, true, 32, 11745, 11608, .2387},
    {"v-min", 16, 192, 2, true, 12, 13238, 13238, 1.5716},
    {"v-half", 16, 192, 2, true, 18, 12032, 12032, 2.4183},
    {"v1f1b", 16, 192, 2, false, 22, 13356, 13356, .0586},
    {"zbv", 32, 256, 2, true, 64, 15825, 15544, .6669},
    {"v-min", 32, 256, 2, true, 24, 18194, 18194, 8.5945},
    {"v-half", 32, 256, 2, true, 34, 16462, 16462, 12.8156},
};

}  // namespace trainyard
