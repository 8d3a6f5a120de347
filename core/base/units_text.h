// This file is the one place where quantities such as "80 GiB", "312 TFLOP/s" and "3.2 ms" are read
// and printed. A number without a unit is refused, because nobody can tell what it means.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/base/units.h"

namespace trainyard {

/// These functions read a quantity. All throw Error{InvalidInput} at the place when the text is
/// empty, has no unit or an unknown one, is negative, not finite, or too large for the type. Case
/// matters: "Gb/s" is bits, "GB/s" is bytes. Fractions of a byte are rounded to the nearest byte,
/// fractions of a nanosecond up.
Bytes parse_bytes(std::string_view, const Place& = {});  // B kB MB GB TB PB, KiB MiB GiB TiB PiB
BytesPerSecond parse_bandwidth(std::string_view, const Place& = {});  // GB/s GiB/s ..., Gb/s Gbit/s
                                                                      // Gbps ...
FlopsPerSecond parse_throughput(std::string_view, const Place& = {});  // FLOP/s kFLOP/s ...
                                                                       // EFLOP/s, also TFLOPS
Duration parse_duration(std::string_view, const Place& = {});          // ns us ms s min h d
Watts parse_power(std::string_view, const Place& = {});                // W kW MW
/// These two read a plain number without a unit; the whole text must be the number, and it must be
/// finite.
double parse_number(std::string_view, const Place& = {});
std::int64_t parse_integer(std::string_view, const Place& = {});

/// to_text() prints exactly: the shortest text that reads back as the very same value.
std::string to_text(Bytes);
std::string to_text(BytesPerSecond);
std::string to_text(FlopsPerSecond);
std::string to_text(Duration);
std::string to_text(Watts);
/// Returns the shortest decimal that reads back as the same double; whole numbers have no decimal
/// point.
std::string to_text(double);

/// readable() prints for people, with three significant digits ("79.2 GiB", "312 TFLOP/s", "3.20
/// ms"). Negative values keep their sign; the largest Duration prints as "never".
std::string readable(Bytes);
std::string readable(BytesPerSecond);
std::string readable(FlopsPerSecond);
std::string readable(Flops);
std::string readable(Duration);
std::string readable(Watts);
std::string readable(Joules);
/// Prints the time of a step: from one second on to the millisecond ("4.938 s"), below that as
/// readable().
std::string readable_step(Duration);
/// Prints a share in percent with one decimal: 0.347 is "34.7 %". A value that rounds to zero has
/// no minus sign.
std::string readable_share(double fraction);
/// Prints days with three significant digits, whole ones from a thousand on: "54.2 days", "2113
/// days".
std::string readable_days(double seconds);
/// Prints a count as people say it: "70.6 B", "1.47 M", "512".
std::string readable_count(double);
/// Prints a count before its noun, which takes an s unless there is one: "1 device", "0 devices".
std::string counted(std::int64_t, std::string_view noun);

}  // namespace trainyard
