#include "backends/cpu/memory/held_text.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "core/base/units_text.h"

namespace trainyard {
namespace {

constexpr std::size_t kOwnersNamed = 4;

struct Owner {
  std::string_view name;
  Bytes bytes{};
  std::set<std::int32_t> layers, microbatches;
};
struct Share {
  std::string name;
  Bytes bytes{};
  std::vector<Owner> owners;
};

template <class T>
void largest_first(std::vector<T>& all) {
  std::stable_sort(all.begin(), all.end(),
                   [](const T& a, const T& b) { return a.bytes > b.bytes; });
}

std::vector<Share> shares(const Program& program, std::span<const Held> all) {
  std::map<Category, std::map<std::string_view, Owner>> tree;
  for (const Held& held : all) {
    const Buffer& buffer = program.buffers[held.buffer.value];
    const std::string_view name = program.name(buffer.name);
    Owner& owner = tree[buffer.category][name];
    owner.name = name;
    owner.bytes += held.bytes;
    if (buffer.layer >= 0) owner.layers.insert(buffer.layer);
    if (held.microbatch >= 0) owner.microbatches.insert(held.microbatch);
  }
  std::vector<Share> made;
  for (auto& [category, owners] : tree) {
    Share& share = made.emplace_back();
    share.name = to_string(category);
    std::replace(share.name.begin(), share.name.end(), '_', ' ');
    for (auto& [name, owner] : owners) {
      share.bytes += owner.bytes;
      share.owners.push_back(std::move(owner));
    }
    largest_first(share.owners);
  }
  largest_first(made);
  return made;
}

std::string text(const Owner& owner) {
  std::string made = std::string(owner.name) + " " + readable(owner.bytes);
  if (owner.layers.size() > 1) made += " of " + std::to_string(owner.layers.size()) + " layers";
  if (owner.microbatches.size() > 1)
    made += " in " + std::to_string(owner.microbatches.size()) + " microbatches";
  return made;
}

std::string text(const Share& share) {
  std::string made = share.name + " " + readable(share.bytes) + " (";
  // A single remaining owner is named too.
  const std::size_t named =
      share.owners.size() > kOwnersNamed + 1 ? kOwnersNamed : share.owners.size();
  Bytes rest = share.bytes;
  for (std::size_t i = 0; i < named; ++i) {
    made += (i > 0 ? ", " : "") + text(share.owners[i]);
    rest -= share.owners[i].bytes;
  }
  if (named < share.owners.size())
    made += " and " + std::to_string(share.owners.size() - named) + " more " + readable(rest);
  return made + ")";
}

}  // namespace

std::string held_text(const Program& program, std::span<const Held> all) {
  if (all.empty()) return "nothing is held";
  Bytes sum{};
  std::string list;
  for (const Share& share : shares(program, all)) {
    sum += share.bytes;
    list += (list.empty() ? "" : ", ") + text(share);
  }
  return readable(sum) + " are held: " + list;
}

}  // namespace trainyard
