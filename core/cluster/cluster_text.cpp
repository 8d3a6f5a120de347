// This file reads and writes the text form DEVICE:COUNT[,OPTION]...
#include <fmt/format.h>

#include <algorithm>

#include "core/base/nearest.h"
#include "core/base/units_text.h"
#include "core/cluster/cluster.h"
#include "core/cluster/cluster_options.h"
#include "core/cluster/price.h"
#include "core/cluster/wiring.h"

namespace trainyard {
namespace {

using View = std::string_view;

std::string quoted(View text) {
  return fmt::format("\"{}{}\"", text.substr(0, 60), text.size() > 60 ? "..." : "");
}

// A quantity of 0 has no meaning in any option, so it is refused.
template <class T>
T above_zero(View name, View text, T value) {
  if (value > T{}) return value;
  refuse(fmt::format("{} must be above 0, not {}", name, quoted(text)));
}

BytesPerSecond rate(View name, View text) { return above_zero(name, text, parse_bandwidth(text)); }
Duration latency(View name, View text) { return above_zero(name, text, parse_duration(text)); }
Bytes memory(View name, View text) { return above_zero(name, text, parse_bytes(text)); }

double factor(View name, View text) {
  const double value = parse_number(text);
  if (value >= 1 && value <= 1000) return value;
  refuse(fmt::format("{} must be 1 to 1000, not {}", name, quoted(text)));
}

double compression(View name, View text) {
  const double value = parse_number(text);
  if (value > 0 && value <= kMostCompression) return value;
  refuse(fmt::format("{} must be above 0 and at most {}, not {}", name, kMostCompression,
                     quoted(text)));
}

double bit_errors(View name, View text) {
  const double value = parse_number(text);
  if (value >= 0 && value <= kMostBitErrors) return value;
  refuse(fmt::format("{} must be 0 to {}, not {}", name, kMostBitErrors, quoted(text)));
}

double overhead(View name, View text) {
  const double value = parse_number(text);
  if (value >= 1 && value <= kMostOverhead) return value;
  refuse(fmt::format("{} must be 1 to {:g}, not {}", name, kMostOverhead, quoted(text)));
}

double log_spread(View name, View text) {
  const double value = parse_number(text);
  if (value > 0 && value <= kMostSpread) return value;
  refuse(fmt::format("{} must be above 0 and at most {}, the spread of a logarithm, not {}", name,
                     kMostSpread, quoted(text)));
}

std::uint64_t draw_number(View name, View text) {
  const std::int64_t value = parse_integer(text);
  if (value >= 0) return static_cast<std::uint64_t>(value);
  refuse(fmt::format("{} must be at least 0, not {}", name, quoted(text)));
}

// The links of a device in a DGX-1: 4 of NVLink 1, 6 of NVLink 2.
int cube_links(View text) {
  const std::int64_t links = parse_integer(text);
  if (links == 4 || links == 6) return static_cast<int>(links);
  refuse("expected 4 links of each device (NVLink 1) or 6 (NVLink 2), found " + quoted(text));
}

std::vector<int> dragonfly(View text) {
  std::vector<int> parts = parse_extents(text);
  if (parts.size() != 3)
    refuse("expected groups, routers of each and links of each router such as \"9x4x2\", found " +
           quoted(text));
  return parts;
}

bool on_or_off(View text) {
  if (text == "on" || text == "off") return text == "on";
  refuse("expected on or off, found " + quoted(text));
}

using Read = void (*)(ClusterOptions&, View name, View value);
struct Option {
  View name;
  bool has_value;
  Read read;
};

void set_network(ClusterOptions& options, Topology topology) {
  if (options.network && *options.network != topology)
    refuse("the network is either rail or fat-tree, not both");
  options.network = topology;
}

constexpr Option kOptions[] = {
    {"per-node", true, [](ClusterOptions& o, View, View v) { o.per_node = parse_integer(v); }},
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
    {"torus", true, [](ClusterOptions& o, View, View v) { o.torus = parse_extents(v); }},
    {"dragonfly", true, [](ClusterOptions& o, View, View v) { o.dragonfly = dragonfly(v); }},
    {"cube-mesh", true, [](ClusterOptions& o, View, View v) { o.cube_mesh = cube_links(v); }},
    {"intra-reduce", true, [](ClusterOptions& o, View, View v) { o.intra_reduce = on_or_off(v); }},
    {"inter-reduce", true, [](ClusterOptions& o, View, View v) { o.inter_reduce = on_or_off(v); }},
    {"memory", true, [](ClusterOptions& o, View name, View v) { o.memory = memory(name, v); }},
    {"price", true, [](ClusterOptions& o, View, View v) { o.price = parse_price(v); }},
    {"host-memory", true,
     [](ClusterOptions& o, View name, View v) { o.host_memory = memory(name, v); }},
    {"host-bandwidth", true,
     [](ClusterOptions& o, View name, View v) { o.host_bandwidth = rate(name, v); }},
    {"nvme", true, [](ClusterOptions& o, View name, View v) { o.nvme = memory(name, v); }},
    {"nvme-read", true, [](ClusterOptions& o, View name, View v) { o.nvme_read = rate(name, v); }},
    {"nvme-write", true,
     [](ClusterOptions& o, View name, View v) { o.nvme_write = rate(name, v); }},
    {"compression", true,
     [](ClusterOptions& o, View name, View v) { o.compression = compression(name, v); }},
    {"bit-errors", true,
     [](ClusterOptions& o, View name, View v) { o.bit_errors = bit_errors(name, v); }},
    {"region", true, [](ClusterOptions& o, View, View v) { o.region = region(v).name; }},
    {"pue", true, [](ClusterOptions& o, View name, View v) { o.overhead = overhead(name, v); }},
    {"mixed", true, [](ClusterOptions& o, View, View v) { o.mixed = parse_device_kinds(v); }},
    {"port-buffer", true,
     [](ClusterOptions& o, View name, View v) { o.port_buffer = memory(name, v); }},
    {"port-marks", true,
     [](ClusterOptions& o, View name, View v) { o.port_marks = memory(name, v); }},
    {"slow", true,
     [](ClusterOptions& o, View n, View v) { o.slowness.lasting = log_spread(n, v); }},
    {"jitter", true,
     [](ClusterOptions& o, View n, View v) { o.slowness.jitter = log_spread(n, v); }},
    {"throttled", true,
     [](ClusterOptions& o, View n, View v) { o.slowness.throttled = factor(n, v); }},
    {"slow-link", true,
     [](ClusterOptions& o, View n, View v) { o.slowness.slow_link = factor(n, v); }},
    {"slow-seed", true,
     [](ClusterOptions& o, View n, View v) { o.slowness.seed = draw_number(n, v); }},
};

std::size_t find_option(View name) {
  std::vector<View> names;
  for (std::size_t i = 0; i < std::size(kOptions); ++i) {
    if (kOptions[i].name == name) return i;
    names.push_back(kOptions[i].name);
  }
  refuse("no cluster option is called " + quoted(name) + did_you_mean(name, names));
}

void read_option(View text, std::vector<bool>& seen, ClusterOptions& options) {
  const std::size_t equals = std::min(text.find('='), text.size());
  const View name = text.substr(0, equals);
  const std::size_t index = find_option(name);
  const Option& option = kOptions[index];
  if (seen[index]) refuse(fmt::format("{} is given twice", name));
  seen[index] = true;
  const bool has_value = equals < text.size();
  if (option.has_value && !has_value) refuse(fmt::format("{} needs a value: {}=...", name, name));
  if (!option.has_value && has_value) refuse(fmt::format("{} takes no value", name));
  try {
    option.read(options, name, has_value ? text.substr(equals + 1) : View());
  } catch (const Error& error) {
    refuse(fmt::format("{}: {}", name, error.what()));
  }
}

std::int64_t read_count(View text) {
  try {
    return parse_integer(text);
  } catch (const Error& error) {
    refuse(fmt::format("the count of devices: {}", error.what()));
  }
}

Cluster read_cluster(View text) {
  const std::size_t colon = text.find(':');
  const std::size_t comma = std::min(text.find(','), text.size());
  if (colon == View::npos || colon > comma)
    refuse("a cluster is written DEVICE:COUNT, as h100-sxm:64, not " + quoted(text));
  const Device& chosen = device(text.substr(0, colon));
  const std::int64_t count = read_count(text.substr(colon + 1, comma - colon - 1));
  ClusterOptions options;
  std::vector<bool> seen(std::size(kOptions));
  for (std::size_t start = comma; start < text.size();) {  // start is at a comma
    const std::size_t end = std::min(text.find(',', start + 1), text.size());
    read_option(text.substr(start + 1, end - start - 1), seen, options);
    start = end;
  }
  return make_cluster(chosen, count, options);
}

// Prints an exact value without the blank at which a shell would split: "200GB/s".
template <class T>
std::string compact(T value) {
  std::string text = to_text(value);
  std::erase(text, ' ');
  return text;
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
    "dragonfly=GxRxL       G groups of R routers, each with L links to other groups, at a port's "
    "rate; priced as if nothing were narrow, which simulate --network flows shows\n"
    "cube-mesh=4|6         the 8 devices of a node are wired as a DGX-1, with 4 links of each "
    "(P100) "
    "or 6 (V100); priced as a switch\n"
    "intra-reduce=on|off   switches inside a node add up what passes them (NVLink SHARP; on where "
    "the device has them)\n"
    "inter-reduce=on|off   so do those of the network (InfiniBand SHARP; off)\n"
    "memory=SIZE           of one device, as memory=80GiB\n"
    "price=USD/h           of one device, as price=2.50USD/h\n"
    "host-memory=SIZE      of a node's host, as host-memory=2TiB: what offload may put there\n"
    "host-bandwidth=RATE   of that memory, as host-bandwidth=614GB/s\n"
    "nvme=SIZE             of a node's NVMe drives together, as nvme=28TiB\n"
    "nvme-read=RATE        at which a node reads from all of them, as nvme-read=25GB/s\n"
    "nvme-write=RATE       at which it writes to them\n"
    "compression=RATIO     bytes that a device's memory moves over those of the tensors, where it "
    "stores numbers without loss, as compression=0.6\n"
    "bit-errors=P          share of the bits of a device's memory that read wrong, as at a low "
    "voltage, 0 to 0.5: gate keeps codes of weights there, and --train bit-errors=memory trains "
    "against it\n"
    "region=NAME           whose electricity it takes, as region=sweden: carbon\n"
    "pue=X                 what the whole centre takes over what the devices take, as pue=1.1\n"
    "mixed=DEVICE:COUNT    the last COUNT devices are of this kind, further kinds after a plus, as "
    "mixed=a100-sxm-80:16; a stage of a pipeline lies on one kind, and split=balanced gives it the "
    "layers that the kind is fast and large enough for\n"
    "port-buffer=SIZE      of a switch's port between nodes, as port-buffer=1MB: in simulate "
    "--network flows, senders that overflow it wait for their timers (incast)\n"
    "port-marks=SIZE       in the queue of such a port, above which it marks packets and senders "
    "give way (DCTCP)\n"
    "slow=S                devices differ for good: S is the spread of the logarithm of their "
    "compute time, as slow=0.05, at most 1.5; who waits is as slow as the slowest\n"
    "jitter=S              and anew in every step, as jitter=0.02\n"
    "throttled=X           device 0 computes X times as long as the others, 1 to 1000\n"
    "slow-link=X           what passes the farthest link of device 0 takes X times as long, 1 to "
    "1000\n"
    "slow-seed=N           draws which devices are slow in simulate (default 1); 0 takes the mean "
    "over all draws, as estimate and plan do\n";

std::string canonical_name(const Device& device, std::int64_t count,
                           const ClusterOptions& options) {
  std::string text = fmt::format("{}:{}", device.id, count);
  const auto add = [&](std::string_view name, const std::string& value) {
    text += fmt::format(",{}={}", name, value);
  };
  if (options.per_node) add("per-node", std::to_string(*options.per_node));
  if (options.intra) add("intra", compact(*options.intra));
  if (options.inter) add("inter", compact(*options.inter));
  if (options.intra_latency) add("intra-latency", compact(*options.intra_latency));
  if (options.inter_latency) add("inter-latency", compact(*options.inter_latency));
  if (options.network) text += "," + std::string(to_string(*options.network));
  if (options.oversubscription) add("oversubscription", to_text(*options.oversubscription));
  if (!options.torus.empty()) add("torus", fmt::format("{}", fmt::join(options.torus, "x")));
  if (!options.dragonfly.empty())
    add("dragonfly", fmt::format("{}", fmt::join(options.dragonfly, "x")));
  if (options.cube_mesh) add("cube-mesh", std::to_string(*options.cube_mesh));
  const auto on_off = [](bool on) { return on ? std::string("on") : std::string("off"); };
  if (options.intra_reduce) add("intra-reduce", on_off(*options.intra_reduce));
  if (options.inter_reduce) add("inter-reduce", on_off(*options.inter_reduce));
  if (options.memory) add("memory", compact(*options.memory));
  if (options.price) add("price", price_text(*options.price));
  if (options.host_memory) add("host-memory", compact(*options.host_memory));
  if (options.host_bandwidth) add("host-bandwidth", compact(*options.host_bandwidth));
  if (options.nvme) add("nvme", compact(*options.nvme));
  if (options.nvme_read) add("nvme-read", compact(*options.nvme_read));
  if (options.nvme_write) add("nvme-write", compact(*options.nvme_write));
  if (options.compression) add("compression", to_text(*options.compression));
  if (options.bit_errors) add("bit-errors", to_text(*options.bit_errors));
  if (options.region) add("region", *options.region);
  if (options.overhead) add("pue", to_text(*options.overhead));
  if (!options.mixed.empty()) add("mixed", to_text(options.mixed));
  if (options.port_buffer) add("port-buffer", compact(*options.port_buffer));
  if (options.port_marks) add("port-marks", compact(*options.port_marks));
  const Slowness& slow = options.slowness;
  if (slow.lasting > 0) add("slow", to_text(slow.lasting));
  if (slow.jitter > 0) add("jitter", to_text(slow.jitter));
  if (slow.throttled > 1) add("throttled", to_text(slow.throttled));
  if (slow.slow_link > 1) add("slow-link", to_text(slow.slow_link));
  if (slow.seed != Slowness{}.seed) add("slow-seed", std::to_string(slow.seed));
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
