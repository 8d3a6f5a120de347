#include "app/desktop/analyse/recorded_page.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QShortcut>
#include <QSplitter>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/planner/range_sheet.h"
#include "app/desktop/scene/recorded_scene.h"
#include "app/desktop/session/session.h"
#include "app/desktop/tables/table.h"
#include "core/base/error.h"
#include "visualizers/recorded/straggler_words.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr std::size_t kRowsShown = 500;
constexpr qint64 kPacked = 8;  // times as much text as bytes
const char* const kNoRecording =
    "Open or drop a trace of a profiler: Chrome or Kineto JSON, NVTX ranges and kernels as CSV of "
    "nsys stats, also .gz, or a .tybin.";

QPushButton* button(const QString& words, QWidget* parent) {
  auto* made = new QPushButton(words, parent);
  made->setAccessibleName(words);
  made->setFixedHeight(kFieldHeight);
  return made;
}

// What stops a reading, in a sentence; empty: nothing did.
QString trouble_in(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return q(describe(error));
  } catch (const std::bad_alloc&) {
    return "This machine has not the memory to hold the trace.";
  }
  return {};
}

// Says each percent of it in the label.
template <class Tell>
std::function<void(double)> told(const Tell& tell, QLabel* label, const QString& words) {
  return [&tell, label, words, last = -1](double share) mutable {
    const int percent = static_cast<int>(100 * share);
    if (percent == last) return;
    last = percent;
    tell([label, words, percent] {
      label->setText(words + ", " + QString::number(percent) + " %");
    });
  };
}

// "a.json and 3 more"
QString name_of(const QStringList& paths) {
  const QString first = QFileInfo(paths.front()).fileName();
  return paths.size() == 1 ? first : first + " and " + QString::number(paths.size() - 1) + " more";
}

std::vector<std::string> words_of(const QStringList& paths) {
  std::vector<std::string> words;
  for (const QString& path : paths) words.push_back(path.toStdString());
  return words;
}

}  // namespace

RecordedPage::RecordedPage(Session& session, QWidget* parent)
    : Page(parent), session_(session), background_(this), names_(this) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  auto scene = std::make_unique<RecordedScene>([this] { fill_table(); });
  scene_ = scene.get();
  scene_->set_model(nullptr, kNoRecording);
  canvas_ = new CanvasWidget("Recorded trace", std::move(scene));
  canvas_->setMinimumHeight(200);
  auto* bar = new Header("Recorded trace");
  state_ = make_label("", 11, QFont::Normal, "second");
  found_ = make_label("", 11, QFont::Normal, "second");
  search_ = new QLineEdit;
  search_->setPlaceholderText("nccl dev:3 cat:host >5ms");
  search_->setAccessibleName("Find spans of the recording");
  search_->setToolTip(
      "Words that a span must all satisfy: part of its name, cat:communication, dev:3 for the "
      "rank, >5ms; a minus before one turns it round. Enter goes to the next.");
  search_->setClearButtonEnabled(true);
  search_->setFixedSize(220, kFieldHeight);
  open_ = button("Open trace…", this);
  cancel_ = button("Cancel", this);
  for (QWidget* part : std::initializer_list<QWidget*>{state_, found_, search_, cancel_, open_})
    bar->row()->addWidget(part);
  table_ = make_table(
      "Statistics of the recording",
      {"name", "kind", "count", "sum", "self", "average", "p50", "p95", "min", "max", "% of range"},
      {420, 110});
  table_->setSortingEnabled(true);
  table_->sortByColumn(3, Qt::DescendingOrder);
  auto* lower = new QWidget;
  auto* lower_column = new QVBoxLayout(lower);
  lower_column->setContentsMargins(0, 0, 0, 0);
  lower_column->setSpacing(0);
  auto* lower_bar = new Header("Statistics");
  range_ = make_label("", 11, QFont::Normal, "second");
  lower_bar->row()->addWidget(range_);
  lower_column->addWidget(lower_bar);
  lower_column->addWidget(table_, 1);
  stragglers_ =
      make_table("What stands out of the recording", {"takes longer than its like"}, {480});
  stragglers_->setToolTip("Enter or a double click shows the kernel that took longest.");
  connect(stragglers_, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item, int) {
    const QVariant span = item->data(0, Qt::UserRole);
    if (!span.isValid()) return;
    scene_->show_span(span.toULongLong());
    canvas_->refresh();
  });
  scope_ = make_label("", 11, QFont::Normal, "second");
  auto* out = new QWidget;
  auto* out_column = new QVBoxLayout(out);
  out_column->setContentsMargins(0, 0, 0, 0);
  out_column->setSpacing(0);
  auto* out_bar = new Header("Stands out");
  out_bar->row()->addWidget(scope_);
  out_column->addWidget(out_bar);
  out_column->addWidget(stragglers_, 1);
  auto* tables = new QSplitter(Qt::Horizontal);
  tables->addWidget(lower);
  tables->addWidget(out);
  tables->setSizes({760, 560});
  auto* halves = new QSplitter(Qt::Vertical);
  halves->addWidget(canvas_);
  halves->addWidget(tables);
  halves->setSizes({620, 220});
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(bar);
  column->addWidget(halves, 1);
  connect(open_, &QPushButton::clicked, this, &RecordedPage::ask_for_file);
  connect(cancel_, &QPushButton::clicked, this, &RecordedPage::cancel);
  connect(search_, &QLineEdit::textChanged, this, &RecordedPage::search);
  connect(search_, &QLineEdit::returnPressed, this, [this] { walk(true); });
  auto* back = new QShortcut(QKeySequence("Shift+Return"), search_);
  back->setContext(Qt::WidgetShortcut);
  connect(back, &QShortcut::activated, this, [this] { walk(false); });
  connect(&session_, &Session::experiment_changed, this, &RecordedPage::refresh);
  refresh();
}

void RecordedPage::ask_for_file() {
  const QStringList paths = QFileDialog::getOpenFileNames(
      this, "Open trace", {}, "Traces (*.json *.json.gz *.csv *.gz *.tybin);;All files (*)");
  if (paths.size() == 1)
    open(paths.front());
  else if (!paths.isEmpty())
    open_together(paths);
}

void RecordedPage::open(const QString& path, std::function<void()> put_back) {
  put_back_ = std::move(put_back);
  begin({path});
}

void RecordedPage::open_together(const QStringList& paths) {
  put_back_ = {};
  begin(paths);
}

void RecordedPage::begin(const QStringList& paths) {
  qint64 text = 0;
  for (const QString& path : paths)
    if (!path.endsWith(".tybin"))
      text += QFileInfo(path).size() * (path.endsWith(".gz") ? kPacked : 1);
  if (text >= ask_from_) return look_through(paths);
  read(paths, [files = words_of(paths)](const TraceImportOptions& options) {
    return open_traces(files, options);
  });
}

void RecordedPage::look_through(const QStringList& paths) {
  struct Found {
    TraceFiles files;
    QString error;
  };
  const QString words = "looking through " + name_of(paths);
  background_.ask(
      [this, paths, words](std::stop_token stop, const auto& tell) {
        Found found;
        found.error = trouble_in([&] {
          found.files = trace_files(words_of(paths), {stop, told(tell, state_, words), {}});
        });
        return found;
      },
      [this](const Found& found) {
        refresh();
        if (found.error.isEmpty()) return ask_for_range(found.files);
        take({nullptr, found.error});
      });
  refresh();
  state_->setText(words);
}

void RecordedPage::ask_for_range(const TraceFiles& files) {
  QStringList paths;
  qint64 bytes = 0;
  for (const std::string& path : files.paths) {
    paths << q(path);
    bytes += QFileInfo(paths.back()).size();
  }
  auto* sheet = new RangeSheet(files.whole, name_of(paths), bytes, window());
  connect(sheet, &QDialog::accepted, this, [this, sheet, paths, files] {
    read(paths, [files, range = sheet->range()](const TraceImportOptions& options) {
      return range ? open_part(files, *range, options) : open_traces(files.paths, options);
    });
  });
  connect(sheet, &QDialog::rejected, this, [this] {
    if (put_back_) put_back_();
  });
  sheet->open();
}

void RecordedPage::read(const QStringList& paths,
                        std::function<RecordedTrace(const TraceImportOptions&)> open) {
  error_.clear();
  const QString words = "reading " + name_of(paths);
  background_.ask(
      [this, open = std::move(open), words](std::stop_token stop, const auto& tell) {
        Read done;
        done.error = trouble_in(
            [&] { done.model = recorded_model(open({stop, told(tell, state_, words), {}})); });
        return done;
      },
      [this](Read done) { take(std::move(done)); });
  refresh();
  state_->setText(words);
}

void RecordedPage::cancel() {
  background_.stop();
  refresh();
}

void RecordedPage::take(Read read) {
  error_ = read.error;
  // A file that cannot be read takes nothing away.
  if (read.model) model_ = std::move(read.model);
  refresh();
}

void RecordedPage::refresh() {
  cancel_->setVisible(background_.running());
  scene_->set_model(model_, error_.isEmpty() ? QString(kNoRecording) : error_);
  RecordedMarks marks = scene_->marks();
  marks.predicted_step =
      session_.experiment() ? session_.experiment()->result.step.value : Duration{};
  scene_->set_marks(std::move(marks));
  search_->setEnabled(model_ != nullptr);
  if (background_.running()) return;
  QString words = error_;
  if (words.isEmpty() && model_) {
    words = QFileInfo(q(model_->trace.source)).fileName();
    if (!model_->trace.defects.empty())
      words += "  ·  " + QString::number(model_->trace.defects.size()) + " kinds of defects";
  }
  state_->setText(words);
  QString tip;
  if (model_)
    for (const std::string& note : model_->trace.notes) tip += q(note) + "\n";
  if (model_)
    for (const TraceDefect& defect : model_->trace.defects) tip += q(describe(defect)) + "\n";
  state_->setToolTip(tip.trimmed());
  fill_table();
  fill_stragglers();
  search(search_->text());
  Q_EMIT turned();
}

void RecordedPage::fill_table() {
  canvas_->refresh();
  names_.stop();
  range_->clear();
  if (!model_) return table_->clear();
  const TimeRange range = scene_->state().range.value_or(TimeRange{model_->begin, model_->end});
  range_->setText((scene_->state().range ? "range of "
                   : model_->trace.part  ? "the part that was read, "
                                         : "whole recording, ") +
                  q(format_duration(range.length())));
  names_.ask(model_, model_->spans, model_->busy_rows, range.from, range.to,
             [this, range](const std::vector<NameStatistics>& list, bool exact) {
               show_names(list, range, exact);
             });
}

void RecordedPage::fill_stragglers() {
  stragglers_->clear();
  scope_->setText(model_ ? q(straggler_scope(*model_)) : QString());
  scope_->setToolTip(scope_->text());
  if (!model_) return;
  for (const StragglerSentence& one : straggler_sentences(*model_, kRowsShown)) {
    auto* row = new QTreeWidgetItem(stragglers_, {q(one.text)});
    row->setToolTip(0, q(one.text));
    if (one.span) row->setData(0, Qt::UserRole, QVariant::fromValue<qulonglong>(*one.span));
  }
}

void RecordedPage::show_names(const std::vector<NameStatistics>& list, const TimeRange& range,
                              bool exact) {
  table_->clear();
  table_->setSortingEnabled(false);
  for (std::size_t i = 0; i < std::min(kRowsShown, list.size()); ++i) {
    const NameStatistics& s = list[i];
    auto* row = new SortedRow(table_);
    const double share = share_of_range(s.sum, range.from, range.to, model_->busy_rows.size());
    constexpr int kMedian = 3, kP95 = 4;
    const Duration figures[] = {s.sum, s.self, s.average(), s.median, s.p95, s.shortest, s.longest};
    row->setText(0, q(model_->trace.names[s.name]));
    row->setToolTip(0, q(model_->trace.names[s.name]));
    row->setText(1, to_string(static_cast<RecordedKind>(s.category)));
    row->setText(2, q(format_count(static_cast<std::int64_t>(s.count))));
    row->set_figure(2, static_cast<double>(s.count));
    int column = 3;
    for (const Duration figure : figures) {
      const bool about = !exact && (&figure == &figures[kMedian] || &figure == &figures[kP95]);
      row->setText(column, (about ? "\u2248 " : "") + q(format_duration(figure)));
      row->set_figure(column++, to_seconds(figure));
    }
    row->setText(column, q(format_percent(share)));
    row->set_figure(column, share);
    for (int c = 2; c <= column; ++c) row->setTextAlignment(c, Qt::AlignRight | Qt::AlignVCenter);
  }
  table_->setSortingEnabled(true);
}

void RecordedPage::search(const QString& words) {
  RecordedMarks marks = scene_->marks();
  marks.search.reset();
  QString told;
  QString wrong;
  if (model_ && !words.trimmed().isEmpty())
    wrong = trouble_in([&] {
      marks.search.emplace(*model_, parse_span_query(words.toStdString()));
      const auto count = static_cast<std::int64_t>(marks.search->count());
      told = q(format_count(count)) + (count == 1 ? " span" : " spans");
    });
  set_tone(found_, wrong.isEmpty() ? "second" : "error");
  found_->setText(wrong.isEmpty() ? told : wrong);
  found_->setToolTip(found_->text());
  scene_->set_marks(std::move(marks));
  canvas_->refresh();
}

void RecordedPage::walk(bool forwards) {
  if (!model_ || !scene_->marks().search) return;
  std::optional<std::uint64_t> from;
  if (scene_->state().selected.kind == ItemKind::Span) from = scene_->state().selected.tag;
  if (const auto next = scene_->marks().search->next(from, forwards)) scene_->show_span(*next);
  canvas_->refresh();
}

QList<CanvasWidget*> RecordedPage::canvases() const { return {canvas_}; }

std::optional<Drawing> RecordedPage::picture() const {
  if (!model_) return std::nullopt;
  return recorded_picture(*model_, scene_->state().shown);
}

}  // namespace trainyard
