// This file determines the cluster on which a row ran: its accelerator from the names that
// publications use, and the network of a node, which sources state per node, per device or not at
// all.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/base/units_text.h"
#include "core/cluster/cluster_options.h"
#include "core/validation/rows/row_parts.h"

namespace trainyard {
namespace {

struct Accelerator {
  std::string_view word;  // beginning of the row's gpu, in the form of row_word()
  std::string_view device;
  std::string_view assumed = {};  // what the name does not state
};

// The longer word comes first where one begins with the other.
constexpr Accelerator kAccelerators[] = {
    {"a100-80", "a100-sxm-80"},
    {"a100-40", "a100-sxm-40"},
    {"a100-pcie-40", "a100-pcie-40"},
    {"a100-pcie", "a100-pcie-80"},
    {"a100-sxm", "a100-sxm-80"},
    {"a100", "a100-sxm-80", "the 80 GB board on SXM"},
    {"h100-96-hbm2e", "h100-sxm-96"},
    {"h100-pcie", "h100-pcie"},
    {"h100-nvl", "h100-nvl"},
    {"h100", "h100-sxm"},
    {"h800", "h800-sxm"},
    {"a800", "a800-sxm-80"},
    {"h200", "h200-sxm"},
    {"h20", "h20"},
    {"gh200", "gh200-96"},
    {"gb200", "gb200-gpu"},
    {"gb300", "gb300-gpu"},
    {"b200", "b200-hgx"},
    {"b300", "b300-hgx"},
    {"v100-16", "v100-sxm2-16"},
    {"v100-32-dgx-2", "v100-sxm3-32"},
    {"v100-32", "v100-sxm2-32"},
    {"v100-(dgx-2h)", "v100-sxm3-32-450w"},
    {"v100", "v100-sxm2-16", "the 16 GB board on SXM"},
    {"ampere", "a100-sxm-80", "an A100 of 80 GB on SXM"},
    {"tpuv2", "tpu-v2"},
    {"tpuv3", "tpu-v3"},
    {"tpuv4", "tpu-v4"},
    {"tpuv5e", "tpu-v5e"},
    {"tpuv5p", "tpu-v5p"},
    {"tpuv6e", "tpu-v6e"},
    {"trillium", "tpu-v6e"},
    {"p100", "p100-pcie-16"},
    {"p40", "p40"},
    {"xeon-phi-7250", "xeon-phi-7250"},
    {"xeon-8160", "xeon-8160"},
    {"titan-rtx", "titan-rtx"},
    {"rtx-2080", "rtx2080ti"},
    {"rtx2080", "rtx2080ti"},
    {"rtx-3090", "rtx3090"},
    {"rtx-4090", "rtx4090"},
    {"rtx3090", "rtx3090"},
    {"rtx4090", "rtx4090"},
    {"l40s", "l40s"},
    {"mi250x", "mi250x-gcd"},
    {"mi300x", "mi300x"},
    {"mi325x", "mi325x"},
    {"mi355x", "mi355x"},
    {"trainium1", "trainium1"},
    {"trainium2", "trainium2"},
    {"gaudi2", "gaudi2"},
    {"gaudi3", "gaudi3"},
};

// A Machine has a network that is public knowledge, in gigabytes per second of a node in each
// direction.
struct Machine {
  std::string_view phrase;  // appears in the row's notes, framework or source
  std::string_view accelerator;
  double node = 0;
  std::string_view why;
};
constexpr Machine kMachines[] = {
    {"Jean Zay", "a100", 50, "Jean Zay's A100 nodes have four ports of 100 Gb/s"},
    {"Alps", "gh200", 100, "Alps has a port of 200 Gb/s for each of a node's four devices"},
};

const Device* known_device(std::string_view id) {
  const auto list = devices();
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const Device& d) { return d.id == id; });
  return found == list.end() ? nullptr : &*found;
}

const Device& row_device(const MeasuredRow& row, std::vector<Assumption>& assumptions) {
  if (row.gpu.empty()) throw Error(Error::Kind::Unsupported, "states no accelerator");
  const std::string word = row_word(row.gpu);
  for (const Accelerator& a : kAccelerators) {
    if (!word.starts_with(a.word)) continue;
    // Superchips are used alone or as four directly joined ones per node.
    const bool four = a.device == "gh200-96" && row.gpus_per_node.value_or(1) > 1;
    const std::string id = std::string(a.device) + (four ? "-quad" : "");
    if (!a.assumed.empty())
      assumptions.push_back(
          {"device", id, fmt::format("\"{}\" is taken as {}", row.gpu, a.assumed)});
    return device(id);
  }
  if (const Device* found = known_device(word)) return *found;
  throw Error(Error::Kind::Unsupported, "an accelerator that the catalogue does not have");
}

// A LinkText is read from "RDMA 400 Gb/s per GPU", "8x HDR 200 Gb/s per node", "HDR IB 8x200Gb/s
// per node": the rate and the number of links.
struct LinkText {
  double gigabits = 0;
  double times = 1;
};

std::optional<double> number_before(std::string_view text, std::size_t end) {
  while (end > 0 && text[end - 1] == ' ') --end;
  std::size_t first = end;
  while (first > 0 &&
         (std::isdigit(static_cast<unsigned char>(text[first - 1])) != 0 || text[first - 1] == '.'))
    --first;
  double value = 0;
  const auto [rest, failure] = std::from_chars(text.data() + first, text.data() + end, value);
  if (first == end || failure != std::errc() || rest != text.data() + end) return {};
  return value;
}

std::optional<LinkText> link_text(std::string_view text) {
  const std::size_t unit = text.find("Gb/s");
  if (unit == std::string_view::npos) return {};
  LinkText link;
  const std::optional<double> rate = number_before(text, unit);
  if (!rate) return {};
  link.gigabits = *rate;
  for (std::size_t x = text.find('x'); x != std::string_view::npos && x < unit;
       x = text.find('x', x + 1))
    if (const auto times = number_before(text, x); times && x > 0 && text[x - 1] != ' ')
      link.times = *times;
  return link;
}

// Returns bytes per second of a node's network in each direction.
std::optional<double> node_network(const MeasuredRow& row, std::int64_t per_node,
                                   std::vector<Assumption>& assumptions) {
  if (const auto link = link_text(row.inter_link)) {
    const double bytes = link->gigabits * link->times * 1e9 / 8;
    const bool node = mentions(row.inter_link, "per node") || mentions(row.inter_link, "node-node");
    if (node || link->times > 1) return bytes;
    if (!mentions(row.inter_link, "per GPU"))
      assumptions.push_back({"inter", row.inter_link,
                             "whose it is is not stated; taken as each device's, as a node's it "
                             "would be slower than what was measured"});
    return bytes * static_cast<double>(per_node);
  }
  const std::string device = row_word(row.gpu);
  for (const Machine& m : kMachines)
    if (device.starts_with(m.accelerator) &&
        (mentions(row.notes, m.phrase) || mentions(row.source, m.phrase))) {
      assumptions.push_back({"inter", fmt::format("{:g}GB/s", m.node), std::string(m.why)});
      return m.node * 1e9;
    }
  return {};
}

std::int64_t node_size(const MeasuredRow& row, const Device& device, std::int64_t count,
                       std::vector<Assumption>& assumptions) {
  if (row.gpus_per_node && *row.gpus_per_node <= count) return *row.gpus_per_node;
  if (row.gpus_per_node) return count;
  if (count <= device.scale_up_domain) return count;
  std::int64_t size = device.scale_up_domain;
  if (size > 16)  // for racks: the largest part that divides the devices
    while (size > 1 && count % size != 0) --size;
  if (size <= 1) size = std::min<std::int64_t>(8, count);
  assumptions.push_back({"per-node", std::to_string(size), "not stated; the device's usual"});
  return size;
}

}  // namespace

Cluster row_cluster(const MeasuredRow& row, std::vector<Assumption>& assumptions) {
  if (!row.gpus) throw Error(Error::Kind::Unsupported, "states no number of devices");
  const Device& device = row_device(row, assumptions);
  ClusterOptions options;
  const std::int64_t per_node = node_size(row, device, *row.gpus, assumptions);
  options.per_node = per_node;
  if (*row.gpus > per_node)
    if (const auto rate = node_network(row, per_node, assumptions)) options.inter = {*rate};
  try {
    return make_cluster(device, *row.gpus, options);
  } catch (const Error& error) {
    throw Error(Error::Kind::Unsupported, fmt::format("cannot be laid out: {}", error.what()));
  }
}

}  // namespace trainyard
