#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/validation/rows/row_parts.h"

namespace trainyard {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

struct FrameworkWord {
  std::string_view phrase;  // appears in the row's framework
  std::string_view framework;
  std::string_view kernels = {}, attention = {};
};

// The longer phrase comes first where one contains the other.
constexpr FrameworkWord kFrameworkWords[] = {
    {"Sailor", "deepspeed"},
    {"Megatron-Bridge", "megatron-core"},
    {"NeMo", "megatron-core"},
    {"Megatron-LM (Core)", "megatron-core"},
    {"Megatron-Core", "megatron-core"},
    {"MegaScale", "megatron", "", "flash-2"},
    {"Megatron-DeepSpeed", "megatron-deepspeed"},
    {"Megatron", "megatron"},
    {"fms-fsdp", "fsdp", "compiled", "flash-2"},
    {"foundry", "fsdp"},
    {"litgpt", "fsdp", "compiled", "flash-2"},
    {"torchtitan", "torchtitan"},
    {"FSDP", "fsdp"},
    {"nanotron", "nanotron"},
    {"DeepSpeed", "deepspeed"},
    {"MaxText", "maxtext"},
    {"JAX", "maxtext"},
    {"DeepLearningExamples", "typical", "eager"},
    {"PyTorch eager", "pytorch", "eager"},
    {"PyTorch torch.compile", "pytorch", "compiled"},
};

}  // namespace

std::string row_word(std::string_view text) {
  std::string word(text);
  for (char& c : word) c = c == '_' || c == ' ' ? '-' : lower(c);
  return word;
}

bool mentions(std::string_view text, std::string_view phrase) {
  return std::search(text.begin(), text.end(), phrase.begin(), phrase.end(),
                     [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

std::optional<double> stated(std::string_view list, std::string_view key) {
  for (std::size_t at = 0; at < list.size();) {
    std::size_t end = list.find(';', at);
    if (end == std::string_view::npos) end = list.size();
    std::string_view part = list.substr(at, end - at);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    at = end + 1;
    if (!part.starts_with(key) || part.size() <= key.size() || part[key.size()] != '=') continue;
    part.remove_prefix(key.size() + 1);
    double value = 0;
    const auto [rest, failure] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (failure == std::errc() && rest == part.data() + part.size()) return value;
  }
  return {};
}

// Returns the month of a release that a row names as "release 25.09", "[25.09, table]" or
// "@v25.05", and "" where it names none.
std::string row_release(const MeasuredRow& row) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  for (const auto& [text, before] :
       {std::pair<std::string_view, std::string_view>{row.notes, "release "},
        {row.source, "["},
        {row.source, "@v"},
        {row.framework, "NeMo "}})
    for (std::size_t at = text.find(before); at != std::string_view::npos;
         at = text.find(before, at + 1)) {
      const std::string_view found = text.substr(at + before.size());
      if (found.size() < 5 || !digit(found[0]) || !digit(found[1]) || found[2] != '.' ||
          !digit(found[3]) || !digit(found[4]))
        continue;
      const int month = 10 * (found[3] - '0') + found[4] - '0';
      if (found[0] == '2' && month >= 1 && month <= 12)
        return "20" + std::string(found.substr(0, 2)) + "-" + std::string(found.substr(3, 2));
    }
  return "";
}

Software row_software(const MeasuredRow& row) {
  Software software;
  for (const FrameworkWord& w : kFrameworkWords)
    if (mentions(row.framework, w.phrase)) {
      software.framework = w.framework;
      software.kernels = w.kernels;
      software.attention = w.attention;
      break;
    }
  // torchtitan states for each run whether it was compiled.
  if (software.framework == "torchtitan" && mentions(row.notes, "no compile"))
    software.kernels = "eager";
  if (mentions(row.flash_attention, "v2") || mentions(row.flash_attention, "flash-2"))
    software.attention = "flash-2";
  if (mentions(row.flash_attention, "cudnn")) software.attention = "cudnn";
  software.release = row.release.empty() ? row_release(row) : row.release;
  software.graphs = row.graphs;
  // Graphs of the router alone leave the rest of a layer to the host.
  if (row.graphs.empty() && mentions(row.notes, "CUDA graphs") &&
      !mentions(row.notes, "CUDA graphs on router"))
    software.graphs = "on";
  return software;
}

}  // namespace trainyard
