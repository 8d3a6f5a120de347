#include "core/cluster/cluster_fields.h"

#include <algorithm>

#include "core/base/nearest.h"
#include "core/base/units_text.h"
#include "core/cluster/mixed.h"
#include "core/cluster/wiring.h"

namespace trainyard {
namespace {

using View = std::string_view;

[[noreturn]] void refuse_field(View key, const std::string& sentence) {
  throw Error(Error::Kind::InvalidInput, sentence, Place{"cluster " + std::string(key)});
}

void read_value(View text, const Place& place, Bytes& value) { value = parse_bytes(text, place); }
void read_value(View text, const Place& place, BytesPerSecond& value) {
  value = parse_bandwidth(text, place);
}
void read_value(View text, const Place& place, FlopsPerSecond& value) {
  value = parse_throughput(text, place);
}
void read_value(View text, const Place& place, Duration& value) {
  value = parse_duration(text, place);
}
void read_value(View text, const Place& place, Watts& value) { value = parse_power(text, place); }
void read_value(View text, const Place& place, double& value) { value = parse_number(text, place); }

// This visits everything that can be set in the order of the form; reading and writing use the same
// walk.
class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;
  virtual void figure(View key, View group, View title, View doc, std::string text,
                      std::string source) = 0;
  virtual bool wants(View key) const = 0;
  virtual std::string text() const = 0;
  virtual void word(View key, View group, View title, View doc, std::string value,
                    std::vector<std::string> words) = 0;
};

class Listing : public FieldVisitor {
 public:
  std::vector<ClusterField> fields;
  void figure(View key, View group, View title, View doc, std::string text,
              std::string source) override {
    fields.push_back({std::string(key),
                      std::string(group),
                      std::string(title),
                      std::move(text),
                      std::move(source),
                      std::string(doc),
                      {}});
  }
  bool wants(View) const override { return false; }
  std::string text() const override { return {}; }
  void word(View key, View group, View title, View doc, std::string value,
            std::vector<std::string> words) override {
    fields.push_back({std::string(key),
                      std::string(group),
                      std::string(title),
                      std::move(value),
                      {},
                      std::string(doc),
                      std::move(words)});
  }
};

class Writing : public FieldVisitor {
 public:
  Writing(View key, View value) : key_(key), value_(value) {}
  std::vector<std::string> keys;
  void figure(View key, View, View, View, std::string, std::string) override {
    keys.emplace_back(key);
  }
  bool wants(View key) const override { return key == key_; }
  std::string text() const override { return std::string(value_); }
  void word(View key, View, View, View, std::string, std::vector<std::string>) override {
    keys.emplace_back(key);
  }

 private:
  View key_, value_;
};

template <class T>
void visit_figure(FieldVisitor& visitor, View key, View group, View title, View doc,
                  Sourced<T>& number) {
  if (visitor.wants(key)) {
    T value{};
    read_value(visitor.text(), Place{"cluster " + std::string(key)}, value);
    number = {value, std::string(kAssumedSource)};
  }
  visitor.figure(key, group, title, doc, to_text(number.value), number.source);
}

void visit_share(FieldVisitor& visitor, View key, View title, View doc, Sourced<double>& share) {
  visit_figure(visitor, key, "Efficiency", title, doc, share);
  if (visitor.wants(key) && !(share.value > 0 && share.value <= 1))
    refuse_field(key, "expected a share above 0 and at most 1, found " + to_text(share.value));
}

void visit_switch(FieldVisitor& visitor, View key, View group, View title, View doc, bool& on) {
  if (visitor.wants(key)) {
    const std::string text = visitor.text();
    if (text != "on" && text != "off")
      refuse_field(key, "expected on or off, found \"" + text + "\"");
    on = text == "on";
  }
  visitor.word(key, group, title, doc, on ? "on" : "off", {"on", "off"});
}

void visit_reduces(FieldVisitor& visitor, View key, View group, Level& level) {
  visit_switch(visitor, key, group, "In-switch reduction", "SHARP: switches sum what passes them",
               level.reduces);
}

constexpr Topology kInside[] = {Topology::Switch, Topology::Mesh, Topology::CubeMesh};
constexpr Topology kBetween[] = {Topology::FatTree, Topology::Rail, Topology::Switch,
                                 Topology::Torus, Topology::Dragonfly};

void propose_dimensions(View key, Cluster& cluster, std::size_t at_level) {
  Level& level = cluster.levels[at_level];
  level.dimensions = proposed_dimensions(cluster, at_level, level.topology);
  if (level.topology == Topology::Dragonfly && level.dimensions.empty())
    refuse_field(key, "expected devices that divide to the routers of a dragonfly, found " +
                          std::to_string(cluster.count));
}

// Wirings with sizes begin with those that are proposed for them.
template <std::size_t N>
void visit_topology(FieldVisitor& visitor, const std::string& base, View group,
                    const Topology (&known)[N], Cluster& cluster, std::size_t at_level) {
  const std::string key = base + ".kind", sizes = base + ".sizes";
  Level& level = cluster.levels[at_level];
  std::vector<std::string> words;
  for (const Topology topology : known) words.emplace_back(to_string(topology));
  const std::string now(to_string(level.topology));
  if (std::find(words.begin(), words.end(), now) == words.end()) words.push_back(now);
  if (visitor.wants(key) && visitor.text() != now) {
    const std::string text = visitor.text();
    const auto found = std::find(words.begin(), words.end(), text);
    if (found == words.end())
      refuse_field(key, "expected a kind of network, found \"" + text.substr(0, 60) + "\"" +
                            did_you_mean(text, words));
    const auto at = static_cast<std::size_t>(found - words.begin());
    if (at < N) level.topology = known[at];
    propose_dimensions(key, cluster, at_level);
    if (level.topology != Topology::FatTree) level.oversubscription = 1;
    if (level.topology == Topology::Mesh || level.topology == Topology::CubeMesh ||
        level.topology == Topology::Torus)
      level.reduces = false;  // without switches nothing adds up
  }
  visitor.word(key, group, "Kind", "how the links are wired",
               std::string(to_string(level.topology)), words);
  if (level.dimensions.empty()) return;
  if (visitor.wants(sizes))
    level.dimensions = parse_extents(visitor.text(), Place{"cluster " + sizes});
  visitor.figure(sizes, group, "Sizes",
                 level.topology == Topology::Dragonfly
                     ? "groups, routers of a group, links of a router to other groups"
                 : level.topology == Topology::CubeMesh ? "links of each device: 4 or 6"
                                                        : "extents of the torus, as 8x4",
                 extents_text(level.dimensions), "");
}

std::int64_t count_of(FieldVisitor& visitor, View key, std::int64_t now, std::int64_t most) {
  if (!visitor.wants(key)) return now;
  const std::int64_t wanted = parse_integer(visitor.text(), Place{"cluster " + std::string(key)});
  if (wanted < 1 || wanted > most)
    refuse_field(key, "expected a whole number from 1 to " + std::to_string(most) + ", found " +
                          std::to_string(wanted));
  return wanted;
}

// Sizes of node and network follow these counts; further levels must still join all devices.
void visit_counts(FieldVisitor& visitor, Cluster& cluster) {
  const std::int64_t nodes_before = nodes(cluster), each_before = devices_per_node(cluster);
  const std::int64_t nodes_now = count_of(visitor, "nodes", nodes_before, kMostDevices),
                     each_now = count_of(visitor, "per-node", each_before, kMostDevices);
  visitor.figure("nodes", "Size", "Nodes", "", std::to_string(nodes_now), "");
  visitor.figure("per-node", "Size", "Devices per node", "", std::to_string(each_now), "");
  if (nodes_now == nodes_before && each_now == each_before) return;
  if (nodes_now > kMostDevices / each_now)
    refuse_field("nodes", "expected at most " + std::to_string(kMostDevices) + " devices in all");
  if (each_now != each_before && !cluster.levels.front().dimensions.empty())
    refuse_field("per-node",
                 "expected links inside a node that are no torus or cube mesh, whose extents would "
                 "have to be given anew; choose the cluster by its name, as tpu-v5p:64");
  cluster.count = nodes_now * each_now;
  cluster.levels.front().size = each_now;
  for (std::size_t l = 1; l < cluster.levels.size(); ++l)
    cluster.levels[l].size = std::max(cluster.count, each_now);
  for (std::size_t l = 1; l < cluster.levels.size(); ++l)
    if (!cluster.levels[l].dimensions.empty()) propose_dimensions("nodes", cluster, l);
}

void visit_mixed(FieldVisitor& visitor, Cluster& cluster) {
  constexpr View kEqual = "none";
  if (visitor.wants("mixed")) {
    const std::string text = visitor.text();
    cluster.mixed = text == kEqual ? std::vector<DeviceKind>{} : parse_device_kinds(text);
  }
  visitor.figure("mixed", "Size", "Other kinds of devices",
                 "the last devices, as a100-sxm-80:16; none = all devices are equal",
                 is_mixed(cluster) ? to_text(cluster.mixed) : std::string(kEqual), "");
}

void visit_links(FieldVisitor& visitor, View key, View group, Level& level) {
  const std::string base(key);
  visit_figure(visitor, base + ".bandwidth", group, "Bandwidth",
               "per device and direction, all its links together", level.bandwidth);
  visit_figure(visitor, base + ".latency", group, "Latency", "one message, one hop", level.latency);
}

void visit_device(FieldVisitor& visitor, Device& d) {
  const View group = "Accelerator";
  if (visitor.wants("device.name")) {
    const std::string name = visitor.text();
    if (name.empty() || name.size() > 200)
      refuse_field("device.name", "expected a name of 1 to 200 characters");
    d.name = name;
  }
  visitor.figure("device.name", group, "Name", "what lists call it", d.name, "");
  visit_figure(visitor, "memory", group, "Memory", "what the driver reports", d.memory);
  visit_figure(visitor, "memory.bandwidth", group, "Memory bandwidth", "", d.memory_bandwidth);
  visit_figure(visitor, "memory.compression", group, "Memory compression",
               "bytes that it moves over those of the tensors; 1 = numbers as they are",
               d.compression);
  visit_figure(visitor, "memory.bit-errors", group, "Memory bit errors",
               "share of its bits that read wrong, as at a low voltage; 0 = none", d.bit_errors);
  visit_switch(visitor, "memory.on-chip", group, "Memory on the chip",
               "weights stay beside the arithmetic, and products have no tiles to fill",
               d.on_chip_memory);
  for (Peak& peak : d.peaks) {
    const std::string type(to_string(peak.type));
    visit_figure(visitor, "peak." + type, group, "Dense " + type,
                 "a dense peak, never a sparse one", peak.rate);
  }
  visit_figure(visitor, "host-link", group, "Host link", "per direction", d.host_link);
  visit_figure(visitor, "launch", group, "Kernel start", "cost of starting one kernel", d.launch);
  visit_figure(visitor, "message-start", group, "Message start",
               "cost of starting one collective or send", d.message_start);
  visit_figure(visitor, "context", group, "Context",
               "taken by driver and libraries before any tensor", d.context);
  visit_figure(visitor, "power", group, "Power", "board limit", d.power);
  visit_figure(visitor, "idle-power", group, "Idle power",
               "while it holds a job's memory and runs no kernel; 0 = not stated", d.idle_power);
  Efficiency& e = d.efficiency;
  visit_share(visitor, "share.product", "Products", "of the dense peak, in 16 bit", e.product);
  visit_share(visitor, "share.attention", "Attention", "fused, of the dense peak", e.attention);
  visit_share(visitor, "share.memory", "Memory", "streams, of the memory bandwidth", e.memory);
  visit_share(visitor, "share.scale-up", "Inside a node", "reductions, of the links' rate",
              e.scale_up);
  visit_share(visitor, "share.network", "Between nodes", "reductions, of the ports' rate",
              e.network);
  visit_share(visitor, "share.send", "Sends", "of the port's rate", e.send);
  visit_share(visitor, "share.all-to-all", "All-to-all", "of either link's rate", e.all_to_all);
}

// A figure that is 0 is not stated, and has no source.
template <class T>
void visit_stated(FieldVisitor& visitor, View key, View group, View title, View doc,
                  Sourced<T>& number) {
  visit_figure(visitor, key, group, title, doc, number);
  if (!(number.value > T{})) number = {};
}

void visit_host(FieldVisitor& visitor, Cluster& cluster) {
  const View group = "Host of a node";
  visit_stated(visitor, "host-memory", group, "Memory", "0 = not stated", cluster.host_memory);
  visit_stated(visitor, "host-bandwidth", group, "Memory bandwidth",
               "0 = assumed from the accelerator's year", cluster.host_bandwidth);
  visit_stated(visitor, "nvme", group, "NVMe", "all drives together; 0 = not stated", cluster.nvme);
  visit_stated(visitor, "nvme-read", group, "NVMe reads", "all drives together; 0 = not stated",
               cluster.nvme_read);
  visit_stated(visitor, "nvme-write", group, "NVMe writes", "all drives together; 0 = not stated",
               cluster.nvme_write);
}

void visit_site(FieldVisitor& visitor, Site& site) {
  constexpr View kNowhere = "none";
  if (visitor.wants("region")) {
    const std::string name = visitor.text();
    site.region = name == kNowhere ? "" : region(name).name;
  }
  std::vector<std::string> names = {std::string(kNowhere)};
  for (const Region& one : regions()) names.emplace_back(one.name);
  visitor.word("region", "Site", "Region", "whose electricity it takes: carbon",
               site.region.empty() ? std::string(kNowhere) : site.region, names);
  Sourced<double> overhead{site.overhead, ""};
  visit_figure(visitor, "pue", "Site", "Overhead of the building (PUE)",
               "energy of the whole centre over that of the devices, at least 1", overhead);
  site.overhead = overhead.value;
}

void visit_plain(FieldVisitor& visitor, View key, View title, View doc, double& value) {
  Sourced<double> number{value, ""};
  visit_figure(visitor, key, "Slow devices", title, doc, number);
  value = number.value;
}

void visit_slowness(FieldVisitor& visitor, Slowness& slow) {
  visit_plain(visitor, "slow", "Spread that lasts",
              "of the logarithm of a device's compute time, 0 to 1.5; 0 = all are equal",
              slow.lasting);
  visit_plain(visitor, "jitter", "Spread of each step",
              "of the same, drawn anew in every step, 0 to 1.5", slow.jitter);
  visit_plain(visitor, "throttled", "Throttled device",
              "device 0 computes so many times as long, at least 1", slow.throttled);
  visit_plain(visitor, "slow-link", "Slow link",
              "what passes the farthest link of device 0 takes so many times as long, at least 1",
              slow.slow_link);
  const View key = "slow-seed";
  if (visitor.wants(key)) {
    const std::int64_t seed = parse_integer(visitor.text(), Place{"cluster " + std::string(key)});
    if (seed < 0) refuse_field(key, "expected at least 0, found " + std::to_string(seed));
    slow.seed = static_cast<std::uint64_t>(seed);
  }
  visitor.figure(key, "Slow devices", "Draw",
                 "which devices a simulation finds slow; 0 = the mean over all draws",
                 std::to_string(slow.seed), "");
}

// A size that is 0 is not stated.
void visit_port(FieldVisitor& visitor, View key, View title, View doc, Bytes& size) {
  Sourced<Bytes> number{size, ""};
  visit_figure(visitor, key, "Between nodes", title, doc, number);
  size = number.value;
}

void visit_all(FieldVisitor& visitor, Cluster& cluster) {
  visit_counts(visitor, cluster);
  visit_mixed(visitor, cluster);
  Level& inside = cluster.levels.front();
  visit_topology(visitor, "intra", "Inside a node", kInside, cluster, 0);
  visit_links(visitor, "intra", "Inside a node", inside);
  visit_reduces(visitor, "intra.reduces", "Inside a node", inside);
  if (cluster.levels.size() > 1) {
    Level& between = cluster.levels[1];
    visit_topology(visitor, "network", "Between nodes", kBetween, cluster, 1);
    visit_links(visitor, "network", "Between nodes", between);
    if (between.topology == Topology::FatTree) {
      Sourced<double> factor{between.oversubscription, ""};
      visit_figure(visitor, "network.oversubscription", "Between nodes", "Oversubscription",
                   "what leaves take in for each byte they pass on, at least 1", factor);
      between.oversubscription = factor.value;
    }
    visit_reduces(visitor, "network.reduces", "Between nodes", between);
    visit_port(visitor, "network.port-buffer", "Port buffer",
               "of a switch's port: senders that overflow it wait for timers; 0 = not stated",
               between.port_buffer);
    visit_port(visitor, "network.port-marks", "Port marks",
               "bytes in its queue above which it marks packets (DCTCP); 0 = it marks none",
               between.port_marks);
  }
  visit_slowness(visitor, cluster.slowness);
  visit_host(visitor, cluster);
  visit_site(visitor, cluster.site);
  visit_device(visitor, cluster.device);
}

// These figures are how a cluster is built or used, of which no source tells.
bool has_no_source(View key) {
  constexpr View kOwn[] = {"network.oversubscription",
                           "pue",
                           "slow",
                           "jitter",
                           "throttled",
                           "slow-link",
                           "network.port-buffer",
                           "network.port-marks"};
  return std::find(std::begin(kOwn), std::end(kOwn), key) != std::end(kOwn);
}

}  // namespace

std::vector<ClusterField> cluster_fields(const Cluster& cluster) {
  Cluster copy = cluster;
  Listing listing;
  if (!copy.levels.empty()) visit_all(listing, copy);
  for (ClusterField& field : listing.fields)
    if (has_no_source(field.key)) field.source.clear();
  return std::move(listing.fields);
}

Cluster with_cluster_field(const Cluster& cluster, std::string_view key, std::string_view value) {
  Cluster changed = cluster;
  Writing writing(key, value);
  visit_all(writing, changed);
  if (std::find(writing.keys.begin(), writing.keys.end(), key) == writing.keys.end())
    refuse_field(key, "expected a field of the cluster, found \"" + std::string(key.substr(0, 60)) +
                          "\"" + did_you_mean(key, writing.keys));
  Diagnostics found = check(changed);
  for (Diagnostic& wrong : found) wrong.place = Place{"cluster " + std::string(key)};
  throw_if_errors(found);
  if (!changed.name.starts_with("own ")) changed.name = "own " + changed.name;
  return changed;
}

}  // namespace trainyard
