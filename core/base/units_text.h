// Quantities as text: the one place where "80 GiB", "312 TFLOP/s" and "3.2 ms" are read and
// printed. A number without a unit is refused, because nobody can tell what it meant.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/units.h"

namespace trainyard {

/// Reading. All throw Error{InvalidInput} at the place when the text is empty, has no unit or one
/// we do not know, is negative, not finite, or too large for the type. Case matters: "Gb/s" is
/// bits, "GB/s" is bytes. Parts of a byte are rounded to the nearest byte, parts of a nanosecond
/// up.
Bytes parse_bytes(std::string_view, const Place& = {});  // B kB MB GB TB PB, KiB MiB GiB TiB PiB
BytesPerSecond parse_bandwidth(std::string_view, const Place& = {});  // GB/s GiB/s ..., Gb/s Gbit/s
                                                                      // Gbps ...
FlopsPerSecond parse_throughput(std::string_view, const Place& = {});  // FLOP/s kFLOP/s ...
                                                                       // EFLOP/s, also TFLOPS
Duration parse_duration(std::string_view, const Place& = {});          // ns us ms s min h d
Watts parse_power(std::string_view, const Place& = {});                // W kW MW
/// A plain number, without a unit: all of the text, finite.
double parse_number(std::string_view, const Place& = {});
std::int64_t parse_integer(std::string_view, const Place& = {});

/// Printing exactly: the shortest text that reads back as the very same value.
std::string to_text(Bytes);
std::string to_text(BytesPerSecond);
std::string to_text(FlopsPerSecond);
std::string to_text(Duration);
std::string to_text(Watts);
/// The shortest decimal that reads back as the same double; whole numbers without a point.
std::string to_text(double);

/// Printing for people: three significant digits ("79.2 GiB", "312 TFLOP/s", "3.20 ms"). Negative
/// values keep their sign; the largest Duration prints as "never".
std::string readable(Bytes);
std::string readable(BytesPerSecond);
std::string readable(FlopsPerSecond);
std::string readable(Flops);
std::string readable(Duration);
std::string readable(Watts);
std::string readable(Joules);
/// The time of a step: to the millisecond from one second on, "4.938 s"; else as readable().
std::string readable_step(Duration);
/// A share in percent with one decimal: 0.347 is "34.7 %". No minus on what rounds to nothing.
std::string readable_share(double fraction);
/// A count as people say it: "70.6 B", "1.47 M", "512".
std::string readable_count(double);

}  // namespace trainyard
