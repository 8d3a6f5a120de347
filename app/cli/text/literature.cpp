#include "app/cli/text/literature.h"

#include <algorithm>
#include <cctype>

#include "app/cli/text/lines.h"
#include "core/methods/settings/settings.h"
#include "core/training/training.h"

namespace trainyard {
namespace {

// A name of the literature, written without hyphens, and where it leads.
struct Alias {
  std::string_view name, leads;
};

constexpr Alias kAliases[] = {
    {"vdnn",
     "vDNN moves activations to the host layer by layer (Rhu et al., MICRO 2016): --set "
     "offload=activations --set offload-layers=all, convolutions or dynamic; see \"trainyard "
     "methods offload\""},
    {"zerooffload",
     "ZeRO-Offload keeps optimizer state in the host: --set offload=optimizer; see \"trainyard "
     "methods offload\""},
    {"boveda",
     "Boveda stores numbers without loss in fewer bits (Edo Vivancos et al., MLSys 2021): "
     "\"trainyard "
     "gate initial bits=8 --lossless\" measures it on the tensors of a model, and a memory that "
     "has it is priced by "
     "--cluster h100-sxm:8,compression=0.7"},
    {"randbet",
     "RandBET trains against the random bit errors of a low-voltage memory (Stutz et al., MLSys "
     "2021): run --train weight-clip=0.15 --train bit-errors=0.01, or bit-errors=memory with a "
     "cluster such as cpu:1,bit-errors=0.01; \"trainyard gate\" measures what flipped bits cost"},
    {"swalp",
     "SWALP, weights in few bits that are averaged, is not built; \"trainyard methods halp\" "
     "trains "
     "in few bits about an anchor, and \"trainyard methods bf16-sr\" rounds at random"},
    {"autoflex",
     "Autoflex predicts the exponents of --set precision=flex16; see \"trainyard "
     "methods flex16\""},
    {"flexpoint", "Flexpoint is --set precision=flex16; see \"trainyard methods flex16\""},
    {"ttrec",
     "TT-Rec trains tables as products of cores: --set tt-rank=16; see \"trainyard methods "
     "tensor-train\""},
    {"rigl",
     "Pruned weights that move while a network trains are --set sparsity=0.9; see \"trainyard "
     "methods sparse\""},
    {"tflitemicro",
     "TensorFlow Lite Micro's arena and a runner without allocation: \"trainyard export --to "
     "microcontroller\""},
    {"minimalloc", "Buffers are placed in an arena by \"trainyard doctor arena FILE\""},
    {"bitcentring", "Bit centring is --set optimizer=halp; see \"trainyard methods halp\""},
    {"8bitadam", "Adam with moments of a byte is --set optimizer=adamw-8bit"},
    {"optimizers", "\"trainyard methods optimizer\" lists them; --set optimizer=NAME takes one"},
    {"flows",
     "Flows are transfers that share the links of a network max-min fairly, a grain of pricing and "
     "no method: \"trainyard simulate --network flows\" prices a step so, and names the links by "
     "load and who waits for whom; \"trainyard help simulate\""},
    {"panama",
     "PANAMA adds up gradients in the switches of a cluster that jobs share (Gebara et al., MLSys "
     "2021): \"trainyard network\" holds rings, one tree and several trees against each other "
     "beside short flows, with --slots and --trees; so does \"trainyard simulate --network flows\" "
     "in a step, where \"reduces\" of a level of a trainyard/cluster file says that its switches "
     "add up"},
    {"incast",
     "Incast is many senders that meet at one port: \"trainyard network --incast 48\", and in a "
     "step those of an all-to-all, with a cluster such as h100-sxm:64,port-buffer=96kB and "
     "\"trainyard simulate --network flows\""},
    {"dctcp",
     "DCTCP gives way to marks of congestion: \"trainyard network --incast 48\", and in a step a "
     "cluster such as h100-sxm:64,port-buffer=96kB,port-marks=48kB with \"trainyard simulate "
     "--network flows\""},
    {"cpr",
     "CPR takes back only the shard of embedding tables that failed (Maeng et al., MLSys 2021): "
     "\"trainyard run --train cpr=plain\", or mfu, ssu and scar, which save rows used or changed "
     "most, or full, with which all ranks go back; \"trainyard goodput\" prices its recovery"},
    {"flips",
     "Bits that flip by themselves are injected, looked for and recovered from in training: "
     "\"trainyard run --train flip-bits=weights:1e-9 --train flip-check=checksums\"; predictions "
     "that flip are counted by \"trainyard gate\""},
    {"numbers",
     "\"trainyard run --numbers\" counts which exponents tensors have, and the updates that "
     "rounding "
     "cancels; formats are methods: \"trainyard methods\" lists them under precision"},
};

std::string plain(std::string_view name) {
  std::string made;
  for (const char c : name)
    if (c != '-' && c != '_' && c != ' ')
      made += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return made;
}

bool is_called(const Setting& setting, std::string_view name) {
  return plain(setting.key) == plain(name) ||
         std::ranges::any_of(setting.aliases,
                             [&](std::string_view alias) { return plain(alias) == plain(name); });
}

std::vector<std::string_view> words_of_setting(const Setting& setting) {
  if (setting.key != "optimizer") return setting.values;
  std::vector<std::string_view> names;
  for (const Optimizer& each : optimizers()) names.push_back(each.name);
  return names;
}

std::string about_setting(const Setting& setting) {
  Out out;
  line(out, "{} is a setting of a plan, as --set takes it: {}", setting.key, setting.doc);
  if (setting.key == "optimizer") {
    out += '\n';
    for (const Optimizer& each : optimizers()) line(out, "  {:<12} {}", each.name, each.summary);
  } else if (!setting.values.empty()) {
    line(out, "\n  {}", fmt::join(setting.values, ", "));
  }
  return out;
}

std::string about_word(const Setting& setting, std::string_view word) {
  Out out;
  line(out, "{} is a word of a setting of a plan: --set {}={}", word, setting.key, word);
  if (setting.key == "optimizer") line(out, "{}", optimizer(word).summary);
  line(out, "\n{}", about_setting(setting));
  out.pop_back();
  return out;
}

std::string about_training(const TrainingKey& key) {
  Out out;
  line(out, "{} is a setting of training, as run --train {}=VALUE takes it: {}", key.key, key.key,
       key.doc);
  if (!key.values.empty()) line(out, "\n  {}", fmt::join(key.values, ", "));
  return out;
}

}  // namespace

std::string where_it_leads(std::string_view name) {
  for (const Alias& alias : kAliases)
    if (alias.name == plain(name)) return std::string(alias.leads) + "\n";
  std::string about;
  for (const Setting& setting : settings())
    if (is_called(setting, name)) about += about_setting(setting);
  for (const TrainingKey& key : training_keys())
    if (plain(key.key) == plain(name)) about += about_training(key);
  if (!about.empty()) return about;
  // Words such as "on" belong to many settings, and none is meant.
  constexpr std::size_t kShortest = 4;
  const Setting* found = nullptr;
  std::string_view found_word;
  for (const Setting& setting : settings())
    for (const std::string_view word : words_of_setting(setting))
      if (word.size() >= kShortest && plain(word) == plain(name)) {
        if (found != nullptr) return "";
        found = &setting, found_word = word;
      }
  return found == nullptr ? "" : about_word(*found, found_word);
}

std::string training_settings() {
  Out out;
  const Training usual;
  line(out, "Settings of training, as --train KEY=VALUE takes them, with their usual values");
  for (const TrainingKey& key : training_keys())
    line(out, "  {:<18} {:<10} {}", key.key, key.read(usual), key.doc);
  return out;
}

}  // namespace trainyard
