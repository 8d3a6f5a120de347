#include "core/base/units_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "core/base/nearest.h"
#include "core/base/trimmed.h"

namespace trainyard {
namespace {

struct Unit {
  std::string_view name;
  double scale;
  bool printed = true;  // false for a spelling that is read but never written
};

constexpr double kKi = 1024.0, kMi = kKi * 1024, kGi = kMi * 1024, kTi = kGi * 1024,
                 kPi = kTi * 1024;

// Units are listed smallest first; of two texts of equal length the earlier unit wins.
constexpr Unit kByteUnits[] = {{"B", 1},     {"KiB", kKi}, {"MiB", kMi}, {"GiB", kGi},
                               {"TiB", kTi}, {"PiB", kPi}, {"kB", 1e3},  {"KB", 1e3, false},
                               {"MB", 1e6},  {"GB", 1e9},  {"TB", 1e12}, {"PB", 1e15}};
constexpr Unit kBandwidthUnits[] = {{"B/s", 1},
                                    {"kB/s", 1e3},
                                    {"MB/s", 1e6},
                                    {"GB/s", 1e9},
                                    {"TB/s", 1e12},
                                    {"PB/s", 1e15},
                                    {"KB/s", 1e3, false},
                                    {"KiB/s", kKi, false},
                                    {"MiB/s", kMi, false},
                                    {"GiB/s", kGi, false},
                                    {"TiB/s", kTi, false},
                                    {"b/s", 0.125, false},
                                    {"kb/s", 125, false},
                                    {"Mb/s", 125e3, false},
                                    {"Gb/s", 125e6, false},
                                    {"Tb/s", 125e9, false},
                                    {"kbit/s", 125, false},
                                    {"Mbit/s", 125e3, false},
                                    {"Gbit/s", 125e6, false},
                                    {"Tbit/s", 125e9, false},
                                    {"kbps", 125, false},
                                    {"Mbps", 125e3, false},
                                    {"Gbps", 125e6, false},
                                    {"Tbps", 125e9, false}};
constexpr Unit kThroughputUnits[] = {
    {"FLOP/s", 1},          {"kFLOP/s", 1e3},        {"MFLOP/s", 1e6},
    {"GFLOP/s", 1e9},       {"TFLOP/s", 1e12},       {"PFLOP/s", 1e15},
    {"EFLOP/s", 1e18},      {"FLOPS", 1, false},     {"MFLOPS", 1e6, false},
    {"GFLOPS", 1e9, false}, {"TFLOPS", 1e12, false}, {"PFLOPS", 1e15, false},
    {"EFLOPS", 1e18, false}};
constexpr Unit kFlopUnits[] = {{"FLOP", 1},     {"kFLOP", 1e3},  {"MFLOP", 1e6},  {"GFLOP", 1e9},
                               {"TFLOP", 1e12}, {"PFLOP", 1e15}, {"EFLOP", 1e18}, {"ZFLOP", 1e21}};
constexpr Unit kDurationUnits[] = {{"ns", 1},
                                   {"us", 1e3},
                                   {"ms", 1e6},
                                   {"s", 1e9},
                                   {"min", 60e9, false},
                                   {"h", 3600e9, false},
                                   {"d", 86400e9, false}};
constexpr Unit kPowerUnits[] = {{"W", 1}, {"kW", 1e3}, {"MW", 1e6}};
constexpr Unit kEnergyUnits[] = {{"J", 1}, {"kJ", 1e3}, {"MJ", 1e6}, {"GJ", 1e9}, {"TJ", 1e12}};

struct Kind {
  std::string_view what;     // "a bandwidth"
  std::string_view example;  // "25 GB/s"
  std::span<const Unit> units;
  std::string_view suggested, alternative;  // units to append to a bare number
};
constexpr Kind kBytesKind{"an amount of memory", "80 GiB", kByteUnits, "GB", "GiB"};
constexpr Kind kBandwidthKind{"a bandwidth", "25 GB/s", kBandwidthUnits, "GB/s", "GiB/s"};
constexpr Kind kThroughputKind{"a compute rate", "312 TFLOP/s", kThroughputUnits, "TFLOP/s",
                               "GFLOP/s"};
constexpr Kind kDurationKind{"a time", "3.2 ms", kDurationUnits, "us", "ms"};
constexpr Kind kPowerKind{"a power", "700 W", kPowerUnits, "W", "kW"};

// Typed text may be anything, even megabytes long, so a message quotes only its beginning.
std::string quoted(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::string shown(text.substr(0, kMost));
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return "\"" + shown + (text.size() > kMost ? "...\"" : "\"");
}

[[noreturn]] void refuse_text(const Kind& kind, std::string_view text, const std::string& why,
                              const Place& place) {
  throw Error(Error::Kind::InvalidInput,
              fmt::format("expected {} such as \"{}\", found {}{}", kind.what, kind.example,
                          quoted(text), why),
              place);
}

bool starts_number(std::string_view text) {
  if (!text.empty() && text[0] == '-') text.remove_prefix(1);
  return !text.empty() && ((text[0] >= '0' && text[0] <= '9') || text[0] == '.');
}

struct Split {
  std::string_view digits, unit;
  double number = 0;
};

Split split(const Kind& kind, std::string_view text, const Place& place) {
  const std::string_view body = trimmed(text);
  if (!starts_number(body)) refuse_text(kind, text, "", place);
  Split result;
  const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), result.number);
  if (error == std::errc::result_out_of_range)
    refuse_text(kind, text, ", which is out of range", place);
  if (error != std::errc()) refuse_text(kind, text, "", place);
  if (std::signbit(result.number)) refuse_text(kind, text, ", which is negative", place);
  result.digits = body.substr(0, static_cast<std::size_t>(end - body.data()));
  result.unit = trimmed(body.substr(result.digits.size()));
  return result;
}

const Unit& find_unit(const Kind& kind, const Split& parts, std::string_view text,
                      const Place& place) {
  if (parts.unit.empty())
    refuse_text(kind, text,
                fmt::format(", which has no unit: write {0} {1} or {0} {2}", parts.digits,
                            kind.suggested, kind.alternative),
                place);
  std::vector<std::string_view> names;
  for (const Unit& unit : kind.units) {
    if (unit.name == parts.unit) return unit;
    names.push_back(unit.name);
  }
  refuse_text(kind, text, did_you_mean(parts.unit, names), place);
}

double parse(const Kind& kind, std::string_view text, const Place& place) {
  const Split parts = split(kind, text, place);
  const double value = parts.number * find_unit(kind, parts, text, place).scale;
  if (!std::isfinite(value)) refuse_text(kind, text, ", which is out of range", place);
  return value;
}

// Whole counts of whole units are computed in integers, which are exact beyond what a double can
// hold.
std::int64_t parse_whole(const Kind& kind, std::string_view text, const Place& place,
                         double (*rounded)(double)) {
  const Split parts = split(kind, text, place);
  const Unit& unit = find_unit(kind, parts, text, place);
  std::int64_t count = 0, product = 0;
  const char* last = parts.digits.data() + parts.digits.size();
  const auto [end, error] = std::from_chars(parts.digits.data(), last, count);
  if (error == std::errc() && end == last) {
    if (__builtin_mul_overflow(count, static_cast<std::int64_t>(unit.scale), &product))
      refuse_text(kind, text, ", which is out of range", place);
    return product;
  }
  const double value = rounded(parts.number * unit.scale);
  if (!(value < 0x1p63)) refuse_text(kind, text, ", which is out of range", place);
  return static_cast<std::int64_t>(value);
}

// As in trainyard::seconds(), a value slightly above a whole number is rounding error of a product,
// not time.
double round_up(double ns) {
  const double whole = std::round(ns);
  return std::abs(ns - whole) <= 1e-9 * whole ? whole : std::ceil(ns);
}

std::string shortest(double value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return error == std::errc() ? std::string(buffer, end) : std::string();
}

// Returns the shortest text over all units that reads back exactly; the text in the smallest unit
// always does.
template <class Value, class Parse>
std::string exact(Value value, double number, std::span<const Unit> units, Parse parse_back) {
  std::string best;
  for (const Unit& unit : units) {
    if (!unit.printed) continue;
    std::string text = shortest(number / unit.scale) + " " + std::string(unit.name);
    if ((best.empty() || text.size() < best.size()) && parse_back(text) == value)
      best = std::move(text);
  }
  return best;
}

// Prints three significant digits in the largest unit of which the value has at least one.
std::string three_digits(double value, std::span<const Unit> units, double step) {
  const double size = std::abs(value);
  const Unit* chosen = &units[0];
  for (const Unit& unit : units)
    if (unit.printed && unit.scale >= chosen->scale && size >= unit.scale * 0.9995) chosen = &unit;
  const double scaled = value / chosen->scale, digits = std::abs(scaled);
  const bool whole = chosen->scale == 1 && size == std::floor(size) && size < step;
  const int decimals = whole || digits >= 99.95 ? 0 : digits >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", scaled, decimals, chosen->name);
}

std::span<const Unit> binary_units() { return std::span<const Unit>(kByteUnits).first(6); }

}  // namespace

Bytes parse_bytes(std::string_view text, const Place& place) {
  return {parse_whole(kBytesKind, text, place, [](double bytes) { return std::round(bytes); })};
}
BytesPerSecond parse_bandwidth(std::string_view text, const Place& place) {
  return {parse(kBandwidthKind, text, place)};
}
FlopsPerSecond parse_throughput(std::string_view text, const Place& place) {
  return {parse(kThroughputKind, text, place)};
}
Duration parse_duration(std::string_view text, const Place& place) {
  return Duration{parse_whole(kDurationKind, text, place, round_up)};
}
Watts parse_power(std::string_view text, const Place& place) {
  return {parse(kPowerKind, text, place)};
}

double parse_number(std::string_view text, const Place& place) {
  const std::string_view body = trimmed(text);
  double number = 0;
  const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), number);
  if (!starts_number(body) || error != std::errc() || end != body.data() + body.size())
    throw Error(Error::Kind::InvalidInput, "expected a number, found " + quoted(text), place);
  return number;
}

std::int64_t parse_integer(std::string_view text, const Place& place) {
  const std::string_view body = trimmed(text);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(body.data(), body.data() + body.size(), number);
  if (error != std::errc() || end != body.data() + body.size())
    throw Error(Error::Kind::InvalidInput, "expected a whole number, found " + quoted(text), place);
  return number;
}

std::string to_text(Bytes bytes) {
  // This is computed in integers, because a double cannot tell the largest counts apart.
  if (bytes.value < 0) return std::to_string(bytes.value) + " B";
  std::string best;
  for (const Unit& unit : kByteUnits) {
    const auto scale = static_cast<std::int64_t>(unit.scale);
    if (!unit.printed || bytes.value % scale != 0 || (bytes.value == 0 && scale > 1)) continue;
    std::string text = std::to_string(bytes.value / scale) + " " + std::string(unit.name);
    if (best.empty() || text.size() < best.size()) best = std::move(text);
  }
  return best;
}
std::string to_text(BytesPerSecond rate) {
  return exact(rate, rate.value, kBandwidthUnits,
               [](const std::string& text) { return parse_bandwidth(text); });
}
std::string to_text(FlopsPerSecond rate) {
  return exact(rate, rate.value, kThroughputUnits,
               [](const std::string& text) { return parse_throughput(text); });
}
std::string to_text(Duration time) {
  if (time.count() < 0) return std::to_string(time.count()) + " ns";
  std::string best = std::to_string(time.count()) + " ns";
  const std::string scaled = exact(time, static_cast<double>(time.count()),
                                   std::span<const Unit>(kDurationUnits).subspan(1),
                                   [](const std::string& text) { return parse_duration(text); });
  return !scaled.empty() && time.count() != 0 && scaled.size() < best.size() ? scaled : best;
}
std::string to_text(Watts power) {
  return exact(power, power.value, kPowerUnits,
               [](const std::string& text) { return parse_power(text); });
}
std::string to_text(double number) {
  if (number == std::floor(number) && std::abs(number) < 0x1p53)
    return fmt::format("{}", static_cast<std::int64_t>(number));
  return shortest(number);
}

std::string readable(Bytes bytes) {
  return three_digits(static_cast<double>(bytes.value), binary_units(), 1024);
}
std::string readable(BytesPerSecond rate) {
  return three_digits(rate.value, kBandwidthUnits, 1000);
}
std::string readable(FlopsPerSecond rate) {
  return three_digits(rate.value, kThroughputUnits, 1000);
}
std::string readable(Flops flops) { return three_digits(flops.value, kFlopUnits, 1000); }
std::string readable(Duration time) {
  if (time == Duration::max()) return "never";
  if (time == Duration{}) return "0 s";
  return three_digits(static_cast<double>(time.count()), kDurationUnits, 1000);
}
std::string readable(Watts power) { return three_digits(power.value, kPowerUnits, 1000); }
std::string readable(Joules energy) { return three_digits(energy.value, kEnergyUnits, 1000); }
std::string readable_step(Duration time) {
  const auto ns = static_cast<double>(time.count());
  if (std::abs(ns) < 0.9995e9 || time == Duration::max()) return readable(time);
  return fmt::format("{:.3f} s", ns / 1e9);
}
std::string readable_share(double fraction) {
  std::string digits = fmt::format("{:.1f}", 100 * fraction);
  return (digits == "-0.0" ? "0.0" : digits) + " %";
}
std::string readable_days(double seconds) {
  constexpr double kDaySeconds = 86400, kManyDays = 1000;
  const double days = seconds / kDaySeconds;
  return days < kManyDays ? fmt::format("{:.3g} days", days) : fmt::format("{:.0f} days", days);
}

std::string readable_count(double count) {
  static constexpr Unit kCountUnits[] = {{"", 1}, {"K", 1e3}, {"M", 1e6}, {"B", 1e9}, {"T", 1e12}};
  std::string text = three_digits(count, kCountUnits, 1000);
  if (text.back() == ' ') text.pop_back();
  return text;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace trainyard
