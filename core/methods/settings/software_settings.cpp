#include "core/methods/settings/software_settings.h"

#include "core/base/error.h"

namespace trainyard {
namespace {

constexpr std::string_view kUnfused = "unfused";

// Refuses a word with the place where it stands.
template <class F>
void at_place(const Place& place, F&& f) {
  try {
    f();
  } catch (const Error& e) {
    throw Error(e.kind(), e.what(), place);
  }
}

void set_framework(Plan& plan, std::string_view value, const Place& place) {
  at_place(place, [&] { plan.software.framework = framework(value).name; });
}

void set_kernels(Plan& plan, std::string_view value, const Place& place) {
  at_place(place, [&] { plan.software.kernels = to_string(parse_kernel_class(value)); });
}

void set_attention(Plan& plan, std::string_view value, const Place& place) {
  if (value == kUnfused) {
    plan.flash_attention = false;
    plan.software.attention.clear();  // the attention kernel applies to fused attention only
    return;
  }
  at_place(place, [&] { plan.software.attention = to_string(parse_attention_kernel(value)); });
  plan.flash_attention = true;
}

void set_graphs(Plan& plan, std::string_view value, const Place& place) {
  if (value != "on" && value != "off")
    throw Error(Error::Kind::InvalidInput,
                "expected on or off, found \"" + std::string(value) + "\"", place);
  plan.software.graphs = value;
}

void set_release(Plan& plan, std::string_view value, const Place& place) {
  at_place(place, [&] { release_month(value); });
  plan.software.release = value;
}

}  // namespace

std::vector<Setting> software_settings() {
  std::vector<std::string_view> names;
  for (const FrameworkProfile& known : frameworks()) names.push_back(known.name);
  return {
      {"framework",
       {"training-framework"},
       "framework that trains: decides what is fused, overlapped and kept where nothing else does",
       std::move(names),
       set_framework,
       [](const Plan& p) { return p.software.framework; }},
      {"kernels",
       {"kernel-class"},
       "who fuses chains of memory-bound operators: nobody, a compiler, or hands",
       {"eager", "compiled", "fused"},
       set_kernels,
       [](const Plan& p) { return p.software.kernels; }},
      {"attention",
       {"attention-backend", "attention-kernel", "attn-implementation"},
       "which fused attention kernel; unfused: none, attention is not fused",
       {"triton", "flash-2", "cudnn"},
       set_attention,
       [](const Plan& p) { return p.software.attention; }},
      {"cuda-graphs",
       {"enable-cuda-graph", "cuda-graph"},
       "the host records a layer's kernels once and replays them, so that it is never waited for",
       {"on", "off"},
       set_graphs,
       [](const Plan& p) { return p.software.graphs; }},
      {"release",
       {"framework-release", "container"},
       "year and month of the framework's release, as 2026-02: routed experts have become faster "
       "with each",
       {},
       set_release,
       [](const Plan& p) { return p.software.release; }},
  };
}

}  // namespace trainyard
