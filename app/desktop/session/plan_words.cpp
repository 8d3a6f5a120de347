#include "app/desktop/session/plan_words.h"

#include <QRegularExpression>
#include <QStringList>

#include <cmath>

#include "core/methods/settings/settings.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

struct Title {
  std::string_view key;
  const char* words;
};
constexpr Title kTitles[] = {{"tp", "Tensor"},
                             {"pp", "Pipeline"},
                             {"dp", "Data"},
                             {"cp", "Context"},
                             {"ep", "Expert"},
                             {"etp", "Expert tensor"},
                             {"zero", "ZeRO stage"},
                             {"hybrid", "ZeRO group"},
                             {"micro-batch", "Microbatch"},
                             {"seq", "Sequence"},
                             {"lengths", "Document lengths"},
                             {"widths", "Widths of microbatches"},
                             {"packing-order", "Order of documents"},
                             {"virtual-stages", "Chunks"},
                             {"sequence-parallel", "Seq. parallel"},
                             {"flash-attention", "Flash attn."},
                             {"attention", "Attn. kernel"},
                             {"gradient-dtype", "Gradients"},
                             {"reduce-dtype", "Gradient messages"},
                             {"boundary-dtype", "Stage messages"},
                             {"gather-dtype", "Gathered weights"},
                             {"first-moment-dtype", "First moment"},
                             {"second-moment-dtype", "Second moment"},
                             {"main-weights-dtype", "Main weights"},
                             {"offload-tier", "Offload to"},
                             {"offload-layers", "Offload by layer"},
                             {"offload-in-flight", "Layers under way"},
                             {"lora", "LoRA rank"},
                             {"lora-alpha", "LoRA alpha"},
                             {"lora-targets", "LoRA targets"},
                             {"sparsity", "Weight sparsity"},
                             {"sparse-block", "Sparse block"},
                             {"sparse-every", "Steps to regrow"},
                             {"sparse-drop", "Regrown share"},
                             {"sparse-regrowth", "Regrow weights"},
                             {"sparse-capacity", "Room to regrow"},
                             {"tt-rank", "Tensor-train rank"},
                             {"tt-tables", "Least rows of a table"},
                             {"tt-cache", "Hot rows"},
                             {"tt-zipf", "Zipf exponent"},
                             {"tt-start", "First numbers"},
                             {"rank-order", "Rank order"}};

struct Pointer {
  std::string_view place;
  std::string_view key;
};
// The first that begins a place is its setting.
constexpr Pointer kPointers[] = {{"mesh/tp", "tp"},
                                 {"mesh/pp", "pp"},
                                 {"mesh/dp", "dp"},
                                 {"mesh/cp", "cp"},
                                 {"mesh/ep", "ep"},
                                 {"mesh/etp", "etp"},
                                 {"mesh/order", "rank-order"},
                                 {"batch/global", "global-batch"},
                                 {"batch/micro", "micro-batch"},
                                 {"batch/sequence", "seq"},
                                 {"virtual_stages", "virtual-stages"},
                                 {"split", "split"},
                                 {"order", "order"},
                                 {"optimizer", "optimizer"},
                                 {"flash_attention", "flash-attention"},
                                 {"precision/loss-scale", "loss-scale"},
                                 {"precision", "precision"},
                                 {"choices/zero/shard", "hybrid"},
                                 {"choices/zero/reshard", "reshard-after-forward"},
                                 {"choices/zero/reduce", "zero-reduce"},
                                 {"choices/zero", "zero"},
                                 {"choices/tensor-parallel", "sequence-parallel"},
                                 {"choices/recompute", "recompute"},
                                 {"choices/offload/layers", "offload-layers"},
                                 {"choices/offload", "offload"},
                                 {"choices/packing/lengths", "lengths"},
                                 {"choices/packing/widths", "widths"},
                                 {"choices/packing/order", "packing-order"},
                                 {"choices/packing", "packing"},
                                 {"choices/batch-ramp", "batch-ramp"},
                                 {"choices/evaluation", "evaluation"},
                                 {"choices/input", "input"},
                                 {"choices/adasum", "reduce"},
                                 {"choices/compression", "compression"},
                                 {"choices/halp", "optimizer"},
                                 {"choices/optimizer-norms", "optimizer-norms"},
                                 {"choices/batch-norm-statistics", "batch-norm"},
                                 {"choices/sync", "sync"},
                                 {"choices/lora/targets", "lora-targets"},
                                 {"choices/lora", "lora"},
                                 {"choices/frozen", "frozen"},
                                 {"choices/sparse/block", "sparse-block"},
                                 {"choices/sparse/every", "sparse-every"},
                                 {"choices/sparse/drop", "sparse-drop"},
                                 {"choices/sparse/regrowth", "sparse-regrowth"},
                                 {"choices/sparse/capacity", "sparse-capacity"},
                                 {"choices/sparse", "sparsity"},
                                 {"choices/tensor-formats/first-moment", "first-moment-dtype"},
                                 {"choices/tensor-formats/second-moment", "second-moment-dtype"},
                                 {"choices/tensor-formats/main-weights", "main-weights-dtype"},
                                 {"choices/tensor-formats/reduce", "reduce-dtype"},
                                 {"choices/tensor-formats/boundary", "boundary-dtype"},
                                 {"choices/tensor-formats/gather", "gather-dtype"},
                                 {"choices/tensor-formats", "first-moment-dtype"},
                                 {"choices/tensor-train/tables", "tt-tables"},
                                 {"choices/tensor-train", "tt-rank"},
                                 {"choices/overlap", "overlap"},
                                 {"choices/expert-parallel", "ep"},
                                 {"choices/fp", "precision"},
                                 {"choices/flex", "precision"},
                                 {"choices/tick-tock", "schedule"}};

QString words_of(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

// A key stands for a setting where a number follows: "tp 64", "global-batch=8".
QString with_titles(const QString& sentence) {
  static const QRegularExpression named("\\b([a-z]+(?:-[a-z]+)*)[ =](?=\\d)"),
      product("(?<=\\d) x (?=[A-Za-z])");
  QString text;
  qsizetype from = 0;
  for (auto found = named.globalMatch(sentence); found.hasNext();) {
    const QRegularExpressionMatch match = found.next();
    const std::string key = match.captured(1).toStdString();
    const bool setting = find_setting(key) != nullptr && find_setting(key)->key == key;
    text += sentence.mid(from, match.capturedStart() - from);
    text += setting ? setting_title(key) + " " : match.captured();
    from = match.capturedEnd();
  }
  text += sentence.mid(from);
  return text.replace(product, QString(" %1 ").arg(QChar(0x00D7)));
}

}  // namespace

QString setting_title(std::string_view key) {
  for (const Title& title : kTitles)
    if (title.key == key) return title.words;
  QString text = words_of(key).replace('-', ' ');
  if (!text.isEmpty()) text[0] = text[0].toUpper();
  return text;
}

QString change_name(const std::string& assignments) {
  QStringList names;
  for (const QString& word : QString::fromStdString(assignments).split(' ', Qt::SkipEmptyParts))
    names << setting_title(word.section('=', 0, 0).toStdString()) + " " + word.section('=', 1);
  return names.join(", ");
}

std::vector<std::string> settings_at(const std::string& place) {
  const QString text = QString::fromStdString(place);
  if (text.startsWith("--set ")) {
    const std::string key = text.section(' ', 1, 1).section('=', 0, 0).toStdString();
    const Setting* setting = find_setting(key);
    return setting == nullptr ? std::vector<std::string>{}
                              : std::vector<std::string>{std::string(setting->key)};
  }
  const qsizetype hash = text.indexOf("#/");
  if (hash < 0 || !text.startsWith("plan")) return {};
  const std::string pointer = text.mid(hash + 2).toStdString();
  if (pointer == "mesh") return {"tp", "pp", "cp"};
  if (pointer.starts_with("software/")) return {pointer.substr(pointer.find('/') + 1)};
  for (const Pointer& known : kPointers)
    if (pointer.starts_with(known.place)) return {std::string(known.key)};
  return {};
}

QString fault_sentence(const std::string& place, const std::string& message) {
  QString sentence = QString::fromStdString(message).section('\n', 0, 0);
  const qsizetype advice = sentence.lastIndexOf("; try ");
  if (advice > 0) sentence.truncate(advice);
  const std::vector<std::string> keys = settings_at(place);
  if (keys.size() == 1) {
    const QString title = setting_title(keys.front()), words = with_titles(sentence);
    return words.startsWith(title + " ") ? words : title + ": " + words;
  }
  if (place.empty() || !keys.empty() || place.starts_with("plan#")) {
    sentence = with_titles(sentence);
    if (!sentence.isEmpty()) sentence[0] = sentence[0].toUpper();
    return sentence;
  }
  return QString::fromStdString(place) + ": " + sentence;
}

StepUnit unit_of(Duration step) {
  const double seconds = to_seconds(step);
  if (seconds >= 1 || seconds <= 0) return {"s", 1};
  return seconds >= 1e-3 ? StepUnit{"ms", 1e-3} : StepUnit{"µs", 1e-6};
}

QString step_change(Duration from, Duration to) {
  const StepUnit unit = unit_of(from);
  const double change = (to_seconds(to) - to_seconds(from)) / unit.seconds;
  const double size = std::abs(change);
  return QString::fromStdString(format_signed(change, size >= 100 ? 0 : size >= 10 ? 1 : 2));
}

}  // namespace trainyard
