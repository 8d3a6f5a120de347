#include "core/io/documents/cluster_json.h"

#include <algorithm>
#include <cmath>

#include "core/base/units_text.h"

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

// Returns the catalogue's device from which the rest may be taken; null where that device has a
// price and ours has none, because a document cannot remove a price.
const Device* base_of(const Device& device) {
  const Device* base = in_catalogue(device.id);
  const bool lacks =
      base && ((base->price_low && !device.price_low) || (base->price_high && !device.price_high));
  return lacks ? nullptr : base;
}

Topology read_topology(const JsonCursor& at) {
  constexpr Topology kAll[] = {Topology::Switch,   Topology::Mesh,  Topology::Rail,
                               Topology::FatTree,  Topology::Torus, Topology::CubeMesh,
                               Topology::Dragonfly};
  std::vector<std::string> names;
  for (const Topology topology : kAll) names.emplace_back(to_string(topology));
  const std::string name = at.one_of(names);
  return kAll[std::find(names.begin(), names.end(), name) - names.begin()];
}

std::vector<Peak> read_peaks(const JsonCursor& at) {
  std::vector<Peak> peaks;
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
  return peaks;
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

// A number, or an object with the number and its source.
template <class T>
Form<Sourced<T>> sourced() {
  const char* plain = std::is_same_v<T, double> ? "number" : "string";
  return {one_of_schema({type_schema(plain), type_schema("object")}), sourced_json<T>,
          read_sourced<T>};
}

Form<Sourced<double>> share_form() {
  Form<Sourced<double>> form = sourced<double>();
  form.read = [](const JsonCursor& at) {
    const Sourced<double> share = read_sourced<double>(at);
    if (!(share.value > 0 && share.value <= 1)) at.refuse("expected a share above 0 and at most 1");
    return share;
  };
  return form;
}

Form<Sourced<double>> price_form() {
  Form<Sourced<double>> form = sourced<double>();
  form.read = [](const JsonCursor& at) {
    const Sourced<double> price = read_sourced<double>(at);
    if (!(price.value >= 0) || !std::isfinite(price.value))
      at.refuse("expected US dollars an hour, at least 0");
    return price;
  };
  return form;
}

Form<Topology> topology_form() {
  return {text().schema, [](Topology topology) { return Json(to_string(topology)); },
          read_topology};
}

Fields<Efficiency> efficiency_fields() {
  const Form<Sourced<double>> share = share_form();
  return {{"product", &Efficiency::product, share, kDefaulted},
          {"eight_bit", &Efficiency::eight_bit, share, kDefaulted},
          {"tf32", &Efficiency::tf32, share, kDefaulted},
          {"attention", &Efficiency::attention, share, kDefaulted},
          {"memory", &Efficiency::memory, share, kDefaulted},
          {"scale_up", &Efficiency::scale_up, share, kDefaulted},
          {"network", &Efficiency::network, share, kDefaulted},
          {"send", &Efficiency::send, share, kDefaulted},
          {"all_to_all", &Efficiency::all_to_all, share, kDefaulted}};
}

// What a base has too is left out where it is equal. Without a base every number that a cost or a
// verdict needs is required; the others have defaults.
Fields<Device> device_fields(const Device* base) {
  const Presence needed = base ? kDefaulted : Presence::Always;
  const auto unlike_base = [from = base ? *base : Device{}](auto member) {
    return [from, member](const Device& d) {
      return d.*member == from.*member ? nullptr : &(d.*member);
    };
  };
  const auto price = [unlike_base](std::optional<Sourced<double>> Device::* member) {
    return [unlike = unlike_base(member)](const Device& d) {
      const std::optional<Sourced<double>>* found = unlike(d);
      return found ? *found : std::nullopt;
    };
  };
  const auto id = [](bool there) {
    return [there](const Device& d) { return there ? &d.id : nullptr; };
  };
  const auto read_id = [](Device& d, const JsonCursor& at) { d.id = at.text(); };
  const auto read_idle = [](Device& d, const JsonCursor& at) {
    d.idle_power = read_sourced<Watts>(at);
  };
  const auto read_compression = [](Device& d, const JsonCursor& at) {
    d.compression = read_sourced<double>(at);
  };
  const auto read_bit_errors = [](Device& d, const JsonCursor& at) {
    d.bit_errors = read_sourced<double>(at);
  };
  const auto read_price = [](std::optional<Sourced<double>> Device::* member) {
    return [member](Device& d, const JsonCursor& at) { d.*member = price_form().read(at); };
  };
  const Form<std::int64_t> count = whole(0, kMostDevices);
  Fields<Device> fields = {{"base", id(base != nullptr), [](Device&, const JsonCursor&) {}}};
  // A document without a base must have an id of its own.
  if (base)
    fields.add({"id", id(false), read_id});
  else
    fields.add({"id", &Device::id});
  fields.add(
      {{"name", &Device::name, kDefaulted},
       {"vendor", &Device::vendor, kDefaulted},
       {"memory_kind", &Device::memory_kind, kDefaulted},
       {"scale_up_kind", &Device::scale_up_kind, kDefaulted},
       {"memory", &Device::memory, sourced<Bytes>(), needed},
       {"memory_bandwidth", &Device::memory_bandwidth, sourced<BytesPerSecond>(), needed},
       {"scale_up", &Device::scale_up, sourced<BytesPerSecond>(), needed},
       {"scale_up_latency", &Device::scale_up_latency, sourced<Duration>(), needed},
       {"host_link", &Device::host_link, sourced<BytesPerSecond>(), needed},
       {"network", &Device::network, sourced<BytesPerSecond>(), needed},
       {"network_latency", &Device::network_latency, sourced<Duration>(), needed},
       {"launch", &Device::launch, sourced<Duration>(), needed},
       {"message_start", &Device::message_start, sourced<Duration>(), needed},
       {"context", &Device::context, sourced<Bytes>(), needed},
       {"power", &Device::power, sourced<Watts>(), needed},
       {"peaks", &Device::peaks,
        Form<std::vector<Peak>>{type_schema("object"), peaks_json, read_peaks}, needed},
       {"efficiency", &Device::efficiency, kDefaulted, object(efficiency_fields()),
        [](Device& d, const JsonCursor& at) { efficiency_fields().read(at, d.efficiency); }},
       {"idle_power", unlike_base(&Device::idle_power), sourced<Watts>(), read_idle},
       {"compression", unlike_base(&Device::compression), sourced<double>(), read_compression},
       {"bit_errors", unlike_base(&Device::bit_errors), sourced<double>(), read_bit_errors},
       {"price_low", price(&Device::price_low), price_form(), read_price(&Device::price_low)},
       {"price_high", price(&Device::price_high), price_form(), read_price(&Device::price_high)},
       {"year", &Device::year, whole(0, 9999), kDefaulted},
       {"units", &Device::units, count, kDefaulted},
       {"on_chip_memory", &Device::on_chip_memory, kWhereSet,
        "it lies beside the arithmetic: weights stay there, and products have no tiles to fill"},
       {"scale_up_topology", &Device::scale_up_topology, topology_form(), kDefaulted},
       {"scale_up_dimensions", &Device::scale_up_dimensions, whole(0, 3), kDefaulted},
       {"scale_up_domain", &Device::scale_up_domain, whole(1, kMostDevices), kDefaulted}});
  return fields;
}

Json device_json(const Device& device) {
  const Device* base = base_of(device);
  return base && *base == device ? Json(device.id) : device_fields(base).write(device);
}

Device read_device(const JsonCursor& at) {
  const auto named = [](const JsonCursor& id) {
    return placed(id, [&] { return device(id.text()); });
  };
  if (at.value().text()) return named(at);
  const auto name = at.find("base");
  if (!name) return device_fields(nullptr).read(at);
  const Device base = named(*name);
  Device result = base;
  device_fields(&base).read(at, result);
  return result;
}

JsonField<Level> port_field(const char* key, Bytes Level::* member, const char* words) {
  const Form<Bytes> size{type_schema("string"),
                         [](const Bytes& bytes) { return value_json(bytes); },
                         [](const JsonCursor& at) { return at.bytes(); }};
  const auto given = [member](const Level& level) {
    return level.*member > Bytes{} ? &(level.*member) : nullptr;
  };
  return {key, given, size, words,
          [member](Level& level, const JsonCursor& at) { level.*member = at.bytes(); }};
}

Fields<Level> level_fields() {
  const auto oversubscription = [](const Level& level) {
    return level.oversubscription == 1 ? nullptr : &level.oversubscription;
  };
  return {{"name", &Level::name},
          {"size", &Level::size, whole(1, kMostDevices)},
          {"bandwidth", &Level::bandwidth, sourced<BytesPerSecond>()},
          {"latency", &Level::latency, sourced<Duration>()},
          {"topology", &Level::topology, topology_form(), kDefaulted},
          {"oversubscription", oversubscription,
           [](Level& level, const JsonCursor& at) { level.oversubscription = at.number(); }},
          {"reduces", &Level::reduces, kWhereSet},
          port_field("port_buffer", &Level::port_buffer,
                     "of a switch's port; senders that overflow it wait for their timers"),
          port_field("port_marks", &Level::port_marks,
                     "in the queue of a port, above which it marks packets (DCTCP)"),
          {"dimensions", &Level::dimensions, list_of(whole(1, kMostDevices)), kWhereSet}};
}

Form<Device> device_form() {
  return {one_of_schema({text().schema, type_schema("object")}), device_json, read_device};
}

Fields<DeviceKind> kind_fields() {
  return {{"device", &DeviceKind::device, device_form()},
          {"count", &DeviceKind::count, whole(1, kMostDevices)}};
}

Fields<Slowness> slowness_fields() {
  const auto factor = [](const char* key, double Slowness::* member, const char* words) {
    return JsonField<Slowness>{
        key, [member](const Slowness& s) { return s.*member == 1 ? nullptr : &(s.*member); }, words,
        [member](Slowness& s, const JsonCursor& at) { s.*member = at.number(); }};
  };
  return {{"lasting", &Slowness::lasting, kWhereSet,
           "spread of the logarithm of a device's compute time"},
          {"jitter", &Slowness::jitter, kWhereSet, "of the same, anew in every step"},
          factor("throttled", &Slowness::throttled, "device 0 computes so many times as long"),
          factor("slow_link", &Slowness::slow_link,
                 "what passes the farthest link of device 0 takes so many times as long"),
          {"seed", [](const Slowness& s) { return static_cast<std::int64_t>(s.seed); },
           whole(0, INT64_MAX), kDefaulted, "draws which devices are slow",
           [](Slowness& s, const JsonCursor& at) {
             s.seed = static_cast<std::uint64_t>(whole(0, INT64_MAX).read(at));
           }}};
}

JsonField<Cluster> region_field() {
  return {"region", [](const Cluster& c) { return c.site.region; }, kWhereSet,
          "whose electricity it takes",
          [](Cluster& c, const JsonCursor& at) {
            c.site.region = placed(at, [&] { return region(at.text()).name; });
          }};
}

JsonField<Cluster> overhead_field() {
  return {"pue", [](const Cluster& c) { return c.site.overhead == 1 ? nullptr : &c.site.overhead; },
          "energy of the whole centre over that of the devices",
          [](Cluster& c, const JsonCursor& at) { c.site.overhead = at.number(); }};
}

template <class T>
JsonField<Cluster> host_field(const char* key, Sourced<T> Cluster::* member) {
  return {
      key,
      [member](const Cluster& c) { return (c.*member).value.value > 0 ? &(c.*member) : nullptr; },
      sourced<T>(),
      [member](Cluster& c, const JsonCursor& at) { c.*member = read_sourced<T>(at); }};
}

}  // namespace

Json to_json(const Device& device) { return device_fields(nullptr).write(device); }

const Fields<Cluster>& cluster_fields() {
  static const Fields<Cluster> fields = document_fields<Cluster>(
      kClusterSchema, {{"device", &Cluster::device, device_form()},
                       {"count", &Cluster::count, whole(1, kMostDevices)},
                       {"levels", &Cluster::levels, list_of(object(level_fields())), kDefaulted},
                       host_field("host_memory", &Cluster::host_memory),
                       host_field("host_bandwidth", &Cluster::host_bandwidth),
                       host_field("nvme", &Cluster::nvme),
                       host_field("nvme_read", &Cluster::nvme_read),
                       host_field("nvme_write", &Cluster::nvme_write),
                       {"mixed", &Cluster::mixed, list_of(object(kind_fields())), kWhereSet},
                       {"slowness", &Cluster::slowness, object(slowness_fields()), kWhereSet,
                        "how unequal its devices are in use"},
                       region_field(),
                       overhead_field(),
                       {"name", &Cluster::name, kDefaulted}});
  return fields;
}

Json to_json(const Cluster& cluster) { return cluster_fields().write(cluster); }

std::string write_cluster(const Cluster& cluster) { return write_json(to_json(cluster)); }

Cluster read_cluster(std::string_view text, const std::string& source) {
  const Json document = read_document(text, kClusterSchema, source);
  const JsonCursor at(document, source);
  Cluster cluster = cluster_fields().read(at);
  if (!at.has("levels"))
    cluster.levels = placed(at, [&] { return make_cluster(cluster.device, cluster.count).levels; });
  if (!at.has("name")) cluster.name = cluster.device.id + ":" + std::to_string(cluster.count);
  Diagnostics found = check(cluster);
  for (Diagnostic& wrong : found) wrong.place = at.place();
  throw_if_errors(found);
  return cluster;
}

}  // namespace trainyard
