#include "core/io/documents/cluster_json.h"

#include <algorithm>
#include <cmath>

#include "core/base/units_text.h"
#include "core/io/json/schema.h"

namespace trainyard {
namespace {

constexpr std::string_view kClusterSchema = "trainyard/cluster";

// The source of a number that the document gives without a source.
constexpr const char* kGiven = "given in the cluster file";

Json value_json(Bytes value) { return to_text(value); }
Json value_json(BytesPerSecond value) { return to_text(value); }
Json value_json(FlopsPerSecond value) { return to_text(value); }
Json value_json(Duration value) { return to_text(value); }
Json value_json(Watts value) { return to_text(value); }
Json value_json(double value) { return value; }

void read_value(const JsonCursor& at, Bytes& value) { value = at.bytes(); }
void read_value(const JsonCursor& at, BytesPerSecond& value) { value = at.bandwidth(); }
void read_value(const JsonCursor& at, FlopsPerSecond& value) { value = at.throughput(); }
void read_value(const JsonCursor& at, Duration& value) { value = at.duration(); }
void read_value(const JsonCursor& at, Watts& value) { value = parse_power(at.text(), at.place()); }
void read_value(const JsonCursor& at, double& value) { value = at.number(); }

template <class T>
Json sourced_json(const Sourced<T>& number) {
  Json out = Json::object();
  out.set("value", value_json(number.value)).set("source", number.source);
  return out;
}

template <class T>
Sourced<T> read_sourced(const JsonCursor& at) {
  Sourced<T> number{{}, kGiven};
  if (!at.value().as_object()) {
    read_value(at, number.value);
    return number;
  }
  at.expect_keys({"value", "source"});
  read_value(at.at("value"), number.value);
  if (const auto source = at.find("source")) number.source = source->text();
  return number;
}

// These visit the members of a Device and of an Efficiency, which are listed once for reading and
// writing.
template <class E, class Visit>
void each_share(E& e, Visit&& visit) {
  visit("product", e.product);
  visit("eight_bit", e.eight_bit);
  visit("tf32", e.tf32);
  visit("attention", e.attention);
  visit("memory", e.memory);
  visit("scale_up", e.scale_up);
  visit("network", e.network);
  visit("send", e.send);
  visit("all_to_all", e.all_to_all);
}

template <class D, class Visit>
void each_number(D& d, Visit&& visit) {
  visit("memory", d.memory);
  visit("memory_bandwidth", d.memory_bandwidth);
  visit("scale_up", d.scale_up);
  visit("scale_up_latency", d.scale_up_latency);
  visit("host_link", d.host_link);
  visit("network", d.network);
  visit("network_latency", d.network_latency);
  visit("launch", d.launch);
  visit("message_start", d.message_start);
  visit("context", d.context);
  visit("power", d.power);
}

template <class D, class Visit>
void each_text(D& d, Visit&& visit) {
  visit("name", d.name);
  visit("vendor", d.vendor);
  visit("memory_kind", d.memory_kind);
  visit("scale_up_kind", d.scale_up_kind);
}

const Device* in_catalogue(const std::string& id) {
  const auto all = devices();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Device& d) { return d.id == id; });
  return found == all.end() ? nullptr : &*found;
}

Json peaks_json(const std::vector<Peak>& peaks) {
  Json out = Json::object();
  for (const Peak& peak : peaks)
    out.set(std::string(to_string(peak.type)), sourced_json(peak.rate));
  return out;
}

Json efficiency_json(const Efficiency& efficiency) {
  Json out = Json::object();
  each_share(efficiency, [&](const char* key, const Sourced<double>& share) {
    out.set(key, sourced_json(share));
  });
  return out;
}

// Returns the catalogue's device from which the rest may be taken; null where that device has a
// price and ours has none, because a document cannot remove a price.
const Device* base_of(const Device& device) {
  const Device* base = in_catalogue(device.id);
  const bool lacks =
      base && ((base->price_low && !device.price_low) || (base->price_high && !device.price_high));
  return lacks ? nullptr : base;
}

// Members that are equal to the base's are left out, where there is a base.
Json members_json(const Device& device, const Device* base) {
  const Device blank;
  const Device& from = base ? *base : blank;
  Json out = Json::object();
  out.set(base ? "base" : "id", device.id);
  each_text(device, [&](const char* key, const std::string& text) { out.set(key, text); });
  each_number(device,
              [&](const char* key, const auto& number) { out.set(key, sourced_json(number)); });
  out.set("year", device.year).set("units", device.units);
  out.set("peaks", peaks_json(device.peaks)).set("efficiency", efficiency_json(device.efficiency));
  out.set("scale_up_topology", to_string(device.scale_up_topology));
  out.set("scale_up_dimensions", device.scale_up_dimensions)
      .set("scale_up_domain", device.scale_up_domain);
  if (device.idle_power != from.idle_power) out.set("idle_power", sourced_json(device.idle_power));
  if (device.price_low != from.price_low && device.price_low)
    out.set("price_low", sourced_json(*device.price_low));
  if (device.price_high != from.price_high && device.price_high)
    out.set("price_high", sourced_json(*device.price_high));
  return out;
}

Json device_json(const Device& device) {
  const Device* base = base_of(device);
  return base && *base == device ? Json(device.id) : members_json(device, base);
}

Json level_json(const Level& level) {
  Json out = Json::object();
  out.set("name", level.name).set("size", level.size).set("topology", to_string(level.topology));
  out.set("bandwidth", sourced_json(level.bandwidth)).set("latency", sourced_json(level.latency));
  if (level.oversubscription != 1) out.set("oversubscription", level.oversubscription);
  if (level.reduces) out.set("reduces", true);
  if (level.dimensions.empty()) return out;
  Json extents = Json::list();
  for (const int extent : level.dimensions) extents.push(extent);
  out.set("dimensions", extents);
  return out;
}

Topology read_topology(const JsonCursor& at) {
  constexpr Topology kAll[] = {Topology::Switch, Topology::Mesh, Topology::Rail, Topology::FatTree,
                               Topology::Torus};
  std::vector<std::string> names;
  for (const Topology topology : kAll) names.emplace_back(to_string(topology));
  const std::string name = at.one_of(names);
  return kAll[std::find(names.begin(), names.end(), name) - names.begin()];
}

void read_peaks(const JsonCursor& at, std::vector<Peak>& peaks) {
  peaks.clear();
  for (const std::string& key : at.keys()) {
    const auto type = parse_dtype(key);
    if (!type)
      at.at(key).refuse(
          "\"" + key +
          "\" is no number format; expected fp32, tf32, fp16, bf16, fp8, nvfp4, int8 or fp64");
    peaks.push_back({*type, read_sourced<FlopsPerSecond>(at.at(key))});
  }
  std::stable_sort(peaks.begin(), peaks.end(),
                   [](const Peak& a, const Peak& b) { return a.type < b.type; });
}

void read_efficiency(const JsonCursor& at, Efficiency& efficiency) {
  std::vector<std::string> known;
  each_share(efficiency, [&](const char* key, Sourced<double>& share) {
    known.emplace_back(key);
    const auto member = at.find(key);
    if (!member) return;
    share = read_sourced<double>(*member);
    if (!(share.value > 0 && share.value <= 1))
      member->refuse("expected a share above 0 and at most 1");
  });
  at.expect_keys(known);
}

void expect_device_keys(const JsonCursor& at) {
  Device any;
  std::vector<std::string> known = {"id",
                                    "base",
                                    "year",
                                    "units",
                                    "peaks",
                                    "efficiency",
                                    "idle_power",
                                    "price_low",
                                    "price_high",
                                    "scale_up_topology",
                                    "scale_up_dimensions",
                                    "scale_up_domain"};
  each_text(any, [&](const char* key, const auto&) { known.emplace_back(key); });
  each_number(any, [&](const char* key, const auto&) { known.emplace_back(key); });
  at.expect_keys(known);
}

void read_price(const JsonCursor& at, const char* key, std::optional<Sourced<double>>& price) {
  const auto member = at.find(key);
  if (!member) return;
  price = read_sourced<double>(*member);
  if (!(price->value >= 0) || !std::isfinite(price->value))
    member->refuse("expected US dollars an hour, at least 0");
}

// Without a base every number that a cost or a verdict needs is required; the others have defaults.
void read_numbers(const JsonCursor& at, bool required, Device& device) {
  each_text(device, [&](const char* key, std::string& text) {
    if (const auto member = at.find(key)) text = member->text();
  });
  each_number(device, [&]<class T>(const char* key, Sourced<T>& number) {
    if (required || at.has(key)) number = read_sourced<T>(at.at(key));
  });
  if (required || at.has("peaks")) read_peaks(at.at("peaks"), device.peaks);
  if (const auto member = at.find("efficiency")) read_efficiency(*member, device.efficiency);
  if (const auto member = at.find("idle_power")) device.idle_power = read_sourced<Watts>(*member);
  read_price(at, "price_low", device.price_low);
  read_price(at, "price_high", device.price_high);
}

// Adds the place to an error that has none.
template <class F>
auto placed(const JsonCursor& at, F&& make) {
  try {
    return make();
  } catch (const Error& error) {
    throw Error(error.kind(), error.what(), at.place());
  }
}

Device read_device(const JsonCursor& at) {
  const auto named = [](const JsonCursor& id) {
    return placed(id, [&] { return device(id.text()); });
  };
  if (at.value().text()) return named(at);
  expect_device_keys(at);
  const auto base = at.find("base");
  Device result = base ? named(*base) : Device{};
  if (!base || at.has("id")) result.id = at.at("id").text();
  read_numbers(at, !base, result);
  if (const auto member = at.find("year")) result.year = static_cast<int>(member->integer(0, 9999));
  if (const auto member = at.find("units"))
    result.units = static_cast<int>(member->integer(0, kMostDevices));
  if (const auto member = at.find("scale_up_topology"))
    result.scale_up_topology = read_topology(*member);
  if (const auto member = at.find("scale_up_dimensions"))
    result.scale_up_dimensions = static_cast<int>(member->integer(0, 3));
  if (const auto member = at.find("scale_up_domain"))
    result.scale_up_domain = member->integer(1, kMostDevices);
  return result;
}

Level read_level(const JsonCursor& at) {
  at.expect_keys({"name", "size", "topology", "bandwidth", "latency", "oversubscription",
                  "dimensions", "reduces"});
  Level level;
  level.name = at.at("name").text();
  level.size = at.at("size").integer(1, kMostDevices);
  level.bandwidth = read_sourced<BytesPerSecond>(at.at("bandwidth"));
  level.latency = read_sourced<Duration>(at.at("latency"));
  if (const auto member = at.find("topology")) level.topology = read_topology(*member);
  if (const auto member = at.find("oversubscription")) level.oversubscription = member->number();
  if (const auto member = at.find("reduces")) level.reduces = member->boolean();
  if (const auto member = at.find("dimensions"))
    for (const JsonCursor& extent : member->items())
      level.dimensions.push_back(static_cast<int>(extent.integer(1, kMostDevices)));
  return level;
}

std::vector<Level> read_levels(const JsonCursor& at, const Device& device, std::int64_t count) {
  const auto member = at.find("levels");
  if (!member) return placed(at, [&] { return make_cluster(device, count).levels; });
  std::vector<Level> levels;
  for (const JsonCursor& level : member->items()) levels.push_back(read_level(level));
  return levels;
}

}  // namespace

Json to_json(const Device& device) { return members_json(device, nullptr); }

Json to_json(const Cluster& cluster) {
  Json out = Json::object();
  out.set("schema", schema_name(schema(kClusterSchema)))
      .set("name", cluster.name)
      .set("count", cluster.count);
  out.set("device", device_json(cluster.device));
  Json levels = Json::list();
  for (const Level& level : cluster.levels) levels.push(level_json(level));
  out.set("levels", levels);
  if (cluster.host_memory.value.value > 0)
    out.set("host_memory", sourced_json(cluster.host_memory));
  if (cluster.host_bandwidth.value.value > 0)
    out.set("host_bandwidth", sourced_json(cluster.host_bandwidth));
  return out;
}

std::string write_cluster(const Cluster& cluster) { return write_json(to_json(cluster)); }

Cluster read_cluster(std::string_view text, const std::string& source) {
  const Json document = read_document(text, kClusterSchema, source);
  const JsonCursor at(document, source);
  at.expect_keys({"schema", "name", "count", "device", "levels", "host_memory", "host_bandwidth"});
  Cluster cluster;
  cluster.device = read_device(at.at("device"));
  cluster.count = at.at("count").integer(1, kMostDevices);
  cluster.levels = read_levels(at, cluster.device, cluster.count);
  if (const auto member = at.find("host_memory"))
    cluster.host_memory = read_sourced<Bytes>(*member);
  if (const auto member = at.find("host_bandwidth"))
    cluster.host_bandwidth = read_sourced<BytesPerSecond>(*member);
  const auto name = at.find("name");
  cluster.name = name ? name->text() : cluster.device.id + ":" + std::to_string(cluster.count);
  Diagnostics found = check(cluster);
  for (Diagnostic& wrong : found) wrong.place = at.place();
  throw_if_errors(found);
  return cluster;
}

}  // namespace trainyard
