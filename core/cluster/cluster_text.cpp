// DEVICE:COUNT[,OPTION]... both ways.
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "core/base/nearest.h"
#include "core/cluster/cluster_options.h"

namespace trainyard {
namespace {

Error refused(const std::string& message) { return Error(Error::Kind::InvalidInput, message); }

std::string quoted(std::string_view text) { return fmt::format("\"{}\"", text.substr(0, 60)); }

struct Unit {
  std::string_view name;
  double factor;
};

constexpr Unit kRates[] = {{"B/s", 1},         {"kB/s", 1e3},     {"MB/s", 1e6},
                           {"GB/s", 1e9},      {"TB/s", 1e12},    {"GiB/s", 1024.0 * 1024 * 1024},
                           {"Mb/s", 1e6 / 8},  {"Gb/s", 1e9 / 8}, {"Tb/s", 1e12 / 8},
                           {"Gbit/s", 1e9 / 8}};
constexpr Unit kTimes[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
constexpr Unit kSizes[] = {{"B", 1},
                           {"MB", 1e6},
                           {"GB", 1e9},
                           {"TB", 1e12},
                           {"MiB", 1024.0 * 1024},
                           {"GiB", 1024.0 * 1024 * 1024},
                           {"TiB", 1024.0 * 1024 * 1024 * 1024}};
constexpr Unit kPrices[] = {{"USD/h", 1}};

// A number above 0 with one of the units, in units of factor 1, at most 1e18.
double quantity(std::string_view option, std::string_view text, std::span<const Unit> units,
                std::string_view example) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit =
      error == std::errc() ? text.substr(static_cast<std::size_t>(end - text.data())) : "";
  for (const Unit& known : units) {
    const double value = number * known.factor;
    if (unit == known.name && value > 0 && value <= 1e18) return value;
  }
  const bool bare = error == std::errc() && unit.empty();
  throw refused(fmt::format("{}={} {}; write {}={}", option, text.substr(0, 60),
                            bare ? "has no unit" : "is not a quantity above 0 with its unit",
                            option, example));
}

std::int64_t whole(std::string_view what, std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw refused(fmt::format("{} must be a whole number, not {}", what, quoted(text)));
  return number;
}

// Whole bytes per second, so that the text form gives the same number back.
BytesPerSecond rate(std::string_view option, std::string_view text) {
  const double value = std::round(quantity(option, text, kRates, "200GB/s"));
  if (value < 1) throw refused(fmt::format("{}={} is less than 1 B/s", option, text));
  return {value};
}

Duration latency(std::string_view option, std::string_view text) {
  return Duration{static_cast<std::int64_t>(std::round(quantity(option, text, kTimes, "5us")))};
}

double factor(std::string_view option, std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= 1 && number <= 1000))
    throw refused(fmt::format("{} must be a number of 1 to 1000, not {}", option, quoted(text)));
  return number;
}

std::vector<int> extents(std::string_view text) {
  std::vector<int> result;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('x', start), text.size());
    const std::int64_t extent = whole("a torus extent", text.substr(start, end - start));
    if (extent < 1 || extent > kMostDevices || result.size() == 3)
      throw refused("torus= needs one to three extents of at least 1, as torus=16x16, not " +
                    quoted(text));
    result.push_back(static_cast<int>(extent));
    start = end + 1;
  }
  return result;
}

using Read = void (*)(ClusterOptions&, std::string_view option, std::string_view value);
struct Option {
  std::string_view name;
  bool has_value;
  Read read;
};

void set_network(ClusterOptions& options, Topology topology) {
  if (options.network && *options.network != topology)
    throw refused("the network is either rail or fat-tree, not both");
  options.network = topology;
}

using View = std::string_view;
constexpr Option kOptions[] = {
    {"per-node", true, [](ClusterOptions& o, View name, View v) { o.per_node = whole(name, v); }},
    {"intra", true, [](ClusterOptions& o, View name, View v) { o.intra = rate(name, v); }},
    {"inter", true, [](ClusterOptions& o, View name, View v) { o.inter = rate(name, v); }},
    {"intra-latency", true,
     [](ClusterOptions& o, View name, View v) { o.intra_latency = latency(name, v); }},
    {"inter-latency", true,
     [](ClusterOptions& o, View name, View v) { o.inter_latency = latency(name, v); }},
    {"rail", false, [](ClusterOptions& o, View, View) { set_network(o, Topology::Rail); }},
    {"fat-tree", false, [](ClusterOptions& o, View, View) { set_network(o, Topology::FatTree); }},
    {"oversubscription", true,
     [](ClusterOptions& o, View name, View v) { o.oversubscription = factor(name, v); }},
    {"torus", true, [](ClusterOptions& o, View, View v) { o.torus = extents(v); }},
    {"memory", true,
     [](ClusterOptions& o, View name, View v) {
       o.memory = Bytes{static_cast<std::int64_t>(std::round(quantity(name, v, kSizes, "80GiB")))};
     }},
    {"price", true,
     [](ClusterOptions& o, View name, View v) {
       o.price = quantity(name, v, kPrices, "2.50USD/h");
     }},
};

std::size_t find_option(View name) {
  std::vector<View> names;
  for (std::size_t i = 0; i < std::size(kOptions); ++i) {
    if (kOptions[i].name == name) return i;
    names.push_back(kOptions[i].name);
  }
  throw refused("no cluster option is called " + quoted(name) + did_you_mean(name, names));
}

void read_option(View text, std::vector<bool>& seen, ClusterOptions& options) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const View name = text.substr(0, equals);
  const std::size_t index = find_option(name);
  const Option& option = kOptions[index];
  if (seen[index]) throw refused(fmt::format("{} is given twice", name));
  seen[index] = true;
  const bool has_value = equals < text.size();
  if (option.has_value && !has_value)
    throw refused(fmt::format("{} needs a value: {}=...", name, name));
  if (!option.has_value && has_value) throw refused(fmt::format("{} takes no value", name));
  option.read(options, name, has_value ? text.substr(equals + 1) : View());
}

Cluster read_cluster(View text) {
  const std::size_t colon = text.find(':');
  const std::size_t comma = std::min(text.find(','), text.size());
  if (colon == View::npos || colon > comma)
    throw refused("a cluster is written DEVICE:COUNT, as h100-sxm:64, not " + quoted(text));
  const Device& chosen = device(text.substr(0, colon));
  const std::int64_t count =
      whole("the count of devices", text.substr(colon + 1, comma - colon - 1));
  ClusterOptions options;
  std::vector<bool> seen(std::size(kOptions));
  for (std::size_t start = comma; start < text.size();) {
    const std::size_t end = std::min(text.find(',', start + 1), text.size());
    read_option(text.substr(start + 1, end - start - 1), seen, options);
    start = end;
  }
  return make_cluster(chosen, count, options);
}

// The largest unit in which the number is whole, or in thousandths of it: exact and short.
std::string in_largest(double value, std::span<const Unit> ascending) {
  const Unit* best = &ascending.front();
  for (const Unit& unit : ascending)
    if (value >= unit.factor && std::fmod(value * 1000, unit.factor) == 0) best = &unit;
  return fmt::format("{}{}", value / best->factor, best->name);
}

std::string text_of(BytesPerSecond rate) {
  constexpr Unit kDecimal[] = {{"B/s", 1}, {"GB/s", 1e9}};
  return in_largest(rate.value, kDecimal);
}
std::string text_of(Duration d) { return in_largest(static_cast<double>(d.count()), kTimes); }
std::string text_of(Bytes size) {
  constexpr Unit kBinary[] = {{"B", 1}, {"MiB", 1024.0 * 1024}, {"GiB", 1024.0 * 1024 * 1024}};
  return in_largest(static_cast<double>(size.value), kBinary);
}

}  // namespace

const std::string_view kClusterOptions =
    "per-node=N            devices that share a node and its fast links\n"
    "intra=RATE            fast links, per device and direction, as intra=450GB/s\n"
    "inter=RATE            network ports of a whole node together, per direction, as inter=200GB/s "
    "for 8 x 200 Gb/s\n"
    "intra-latency=TIME    one message inside a node, as intra-latency=4us\n"
    "inter-latency=TIME    one message between two nodes\n"
    "fat-tree              leaf and spine switches (the default network)\n"
    "oversubscription=X    what a fat-tree's leaves take in for each byte they can pass on, at "
    "least 1\n"
    "rail                  device i of a node meets device i of every other node in switch i\n"
    "torus=AxB[xC]         extents of the devices of a node where its links are a torus (TPU), "
    "else of the nodes\n"
    "memory=SIZE           of one device, as memory=80GiB\n"
    "price=USD/h           of one device, as price=2.50USD/h\n";

std::string canonical_name(const Device& device, std::int64_t count,
                           const ClusterOptions& options) {
  std::string text = fmt::format("{}:{}", device.id, count);
  const auto add = [&](std::string_view name, const std::string& value) {
    text += fmt::format(",{}={}", name, value);
  };
  if (options.per_node) add("per-node", std::to_string(*options.per_node));
  if (options.intra) add("intra", text_of(*options.intra));
  if (options.inter) add("inter", text_of(*options.inter));
  if (options.intra_latency) add("intra-latency", text_of(*options.intra_latency));
  if (options.inter_latency) add("inter-latency", text_of(*options.inter_latency));
  if (options.network) text += "," + std::string(to_string(*options.network));
  if (options.oversubscription)
    add("oversubscription", fmt::format("{}", *options.oversubscription));
  if (!options.torus.empty()) add("torus", fmt::format("{}", fmt::join(options.torus, "x")));
  if (options.memory) add("memory", text_of(*options.memory));
  if (options.price) add("price", fmt::format("{}USD/h", *options.price));
  return text;
}

Cluster parse_cluster(std::string_view text) {
  try {
    return read_cluster(text);
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), Place{"cluster " + quoted(text)});
  }
}

}  // namespace trainyard
