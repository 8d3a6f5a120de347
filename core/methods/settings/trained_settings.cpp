#include "core/methods/settings/trained_settings.h"

#include <utility>

#include "core/methods/catalogue.h"
#include "core/methods/settings/setting_values.h"

namespace trainyard {
namespace {

constexpr std::string_view kTrains = "tensor-train";

void set_lora(Plan& plan, std::string_view param, std::string_view value, const Place& place) {
  set_param(plan, "lora", param, value, place);
}

// A plan that trains all weights does not mention these methods.
void set_rank(Plan& plan, std::string_view value, const Place& place) {
  if (value == "off" || value == "0") return remove_choice(plan, "lora");
  set_lora(plan, "rank", value, place);
}

std::string read_lora(const Plan& plan, std::string_view param, std::string_view otherwise) {
  return read_optional(plan, "lora", param, otherwise);
}

void set_sparsity(Plan& plan, std::string_view value, const Place& place) {
  if (value == "off") return remove_choice(plan, "sparse");
  set_param(plan, "sparse", "sparsity", value, place);
}

void set_frozen(Plan& plan, std::string_view value, const Place& place) {
  if (value == "none") return remove_choice(plan, "frozen");
  if (value.empty())
    throw Error(Error::Kind::InvalidInput,
                "expected none, or parts of the model such as embedding,layers, found nothing",
                place);
  choice(plan, "frozen").params.set("parts", std::string(value));
}

std::string read_frozen(const Plan& plan) {
  const Choice* const chosen = find_choice(plan, "frozen");
  return chosen == nullptr ? "none"
                           : with_defaults(chosen->params, method("frozen").params).text("parts");
}

}  // namespace

std::vector<Setting> trained_settings() {
  return {
      {"lora",
       {"lora-rank", "lora-dim", "peft.dim"},
       "rank of low-rank adapters, which are then all that is trained; off = all weights are "
       "trained",
       {},
       set_rank,
       [](const Plan& p) { return read_lora(p, "rank", "off"); }},
      {"lora-alpha",
       {"peft.alpha"},
       "adapters are scaled by alpha / rank; 0 = as the rank",
       {},
       [](Plan& p, std::string_view v, const Place& l) { set_lora(p, "alpha", v, l); },
       [](const Plan& p) { return read_lora(p, "alpha", ""); }},
      {"lora-targets",
       {"lora-target-modules", "target-modules"},
       "linear layers that get an adapter: attention, mlp, all-linear, or names such as "
       "q_proj,v_proj",
       {"all-linear", "attention", "mlp"},
       [](Plan& p, std::string_view v, const Place& l) { set_lora(p, "targets", v, l); },
       [](const Plan& p) { return read_lora(p, "targets", ""); }},
      {"frozen",
       {"freeze"},
       "parts whose weights stay as they are: none, or embedding, layers, head, all-but-head, "
       "vision (a tower without its projector) and names of blocks, as in embedding,layers",
       {},
       set_frozen,
       read_frozen},
      {"sparsity",
       {"weight-sparsity"},
       "share of the weights of products and convolutions that are zero and not stored; off = all "
       "are stored, as they are",
       {},
       set_sparsity,
       [](const Plan& p) { return read_optional(p, "sparse", "sparsity", "off"); }},
      {"sparse-block",
       {"sparsity-block"},
       "weights along a row that are stored together and share an index: 1 (fine), 4, 16 "
       "(coarse) or another number",
       {},
       [](Plan& p, std::string_view v, const Place& l) { set_param(p, "sparse", "block", v, l); },
       [](const Plan& p) { return read_optional(p, "sparse", "block", ""); }},
      {"sparse-every",
       {"regrow-every"},
       "steps from one move of the stored weights to the next; 0 = they stay where they are",
       {},
       [](Plan& p, std::string_view v, const Place& l) { set_param(p, "sparse", "every", v, l); },
       [](const Plan& p) { return read_optional(p, "sparse", "every", ""); }},
      {"sparse-drop",
       {"drop-fraction"},
       "share of the stored weights that the first move drops, the smallest, and grows "
       "elsewhere; it falls to 0 over the run",
       {},
       [](Plan& p, std::string_view v, const Place& l) { set_param(p, "sparse", "drop", v, l); },
       [](const Plan& p) { return read_optional(p, "sparse", "drop", ""); }},
      {"sparse-regrowth",
       {},
       "within: each weight grows as many blocks as it drops; across: the smallest of all weights "
       "are dropped, and each grows in proportion to what it keeps",
       {"within", "across"},
       [](Plan& p, std::string_view v, const Place& l) {
         set_param(p, "sparse", "regrowth", v, l);
       },
       [](const Plan& p) { return read_optional(p, "sparse", "regrowth", ""); }},
      {"sparse-capacity",
       {},
       "with regrowth across weights, the most blocks that each may come to store over those that "
       "it begins with; memory is taken for all of them",
       {},
       [](Plan& p, std::string_view v, const Place& l) {
         set_param(p, "sparse", "capacity", v, l);
       },
       [](const Plan& p) { return read_optional(p, "sparse", "capacity", ""); }},
      {"tt-rank",
       {"tensor-train"},
       "rank of the tensor trains as which embedding tables are trained; off = as tables",
       {},
       [](Plan& p, std::string_view v, const Place& l) {
         if (v == "off" || v == "0") return remove_choice(p, kTrains);
         set_param(p, kTrains, "rank", v, l);
       },
       [](const Plan& p) { return read_optional(p, kTrains, "rank", "off"); }},
      {"tt-tables",
       {},
       "least rows of a table that is trained as a tensor train",
       {},
       [](Plan& p, std::string_view v, const Place& l) { set_param(p, kTrains, "tables", v, l); },
       [](const Plan& p) { return read_param(p, kTrains, "tables"); }},
      {"tt-cache",
       {},
       "most frequent rows that a microbatch makes once of a tensor train; 0 = none",
       {},
       [](Plan& p, std::string_view v, const Place& l) { set_param(p, kTrains, "cache", v, l); },
       [](const Plan& p) { return read_param(p, kTrains, "cache"); }},
      {"tt-zipf",
       {},
       "exponent of Zipf's law by which the price of such a cache takes rows to be looked up",
       {},
       [](Plan& p, std::string_view v, const Place& l) { set_param(p, kTrains, "zipf", v, l); },
       [](const Plan& p) { return read_param(p, kTrains, "zipf"); }},
      {"tt-start",
       {},
       "size of the numbers with which tensor trains begin: normalised as a table's rows, or as "
       "published, which is far larger",
       {"normalised", "published"},
       [](Plan& p, std::string_view v, const Place& l) { set_param(p, kTrains, "start", v, l); },
       [](const Plan& p) { return read_param(p, kTrains, "start"); }}};
}

}  // namespace trainyard
