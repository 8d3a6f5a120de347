#include "app/desktop/analyse/runs_page.h"

#include <QEvent>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSplitter>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/scene/run_scene.h"
#include "app/desktop/tables/table.h"
#include "core/base/error.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {
namespace {

constexpr int kCardWidth = 316;

QString joined(const std::vector<std::string>& words) {
  QStringList list;
  for (const std::string& word : words) list << q(word);
  return list.join(' ');
}

QString loss_of(const RunEntry& e) {
  return e.loss ? QString::number(*e.loss, 'g', 4) : QString::fromUtf8("–");
}
QString time_of(const std::optional<Duration>& time) {
  return time ? q(format_step_time(*time)) : QString::fromUtf8("–");
}
QString bytes_of(const std::optional<Bytes>& bytes) {
  return bytes ? q(format_bytes(*bytes)) : QString::fromUtf8("–");
}

QString apart(double measured, double predicted) {
  return predicted > 0 ? " (" + q(format_signed(100 * (measured / predicted - 1), 1)) + " %)"
                       : QString();
}

QString figures_of(const RunEntry& e) {
  QStringList lines;
  lines << joined(e.settings) << joined(e.training) << q(e.data);
  lines << QString("%1 after %2 updates, loss %3").arg(q(e.outcome)).arg(e.steps).arg(loss_of(e));
  if (e.step && e.predicted_step)
    lines << "step <b>" + time_of(e.step) + "</b>, predicted " + time_of(e.predicted_step) +
                 apart(to_seconds(*e.step), to_seconds(*e.predicted_step));
  if (e.peak && e.predicted_peak)
    lines << "peak <b>" + bytes_of(e.peak) + "</b>, predicted " + bytes_of(e.predicted_peak) +
                 apart(static_cast<double>(e.peak->value),
                       static_cast<double>(e.predicted_peak->value));
  return lines.join("<br>");
}

RunModel model_of(const PastRun& past) {
  RunModel model;
  model.predicted = past.predicted;
  model.aligned = aligned_waves(*past.predicted, past.aligned_peak);
  model.spans = past.measured->timeline.spans;
  model.waves = past.measured->waves;
  model.losses = past.losses;
  model.orthogonality = past.orthogonality;
  model.energy_sent = past.energy_sent;
  model.staleness = past.staleness;
  model.steps = static_cast<std::int64_t>(past.losses.size());
  model.step = past.entry.step.value_or(Duration{});
  model.status = "run " + std::to_string(past.entry.id) + ", " + past.entry.started;
  model.outcome = past.entry.data;
  model.comparison = past.comparison;
  return model;
}

}  // namespace

struct RunsPage::Answer {
  RunModel model;
};

RunsPage::RunsPage(RunList& runs, QWidget* parent) : Page(parent), runs_(runs), alive_(&runs) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  canvas_ = new CanvasWidget("Past run beside its prediction", std::make_unique<RunScene>(model_));
  canvas_->setMinimumHeight(160);
  auto* halves = new QSplitter(Qt::Vertical);
  halves->addWidget(make_list());
  halves->addWidget(canvas_);
  halves->setSizes({280, 520});
  halves->setStretchFactor(0, 1);
  halves->setStretchFactor(1, 2);
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(1);
  row->addWidget(halves, 1);
  row->addWidget(make_card());
  // Later, because it may be a row of the list that has asked for the change.
  connect(
      &runs_, &RunList::changed, this,
      [this] {
        if (isVisible()) refresh_list();
      },
      Qt::QueuedConnection);
  refresh_list();
}

QWidget* RunsPage::make_list() {
  auto* list = new QWidget;
  auto* column = new QVBoxLayout(list);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* bar = new Header("Runs on this machine");
  found_ = make_label("", 11, QFont::Normal, "second");
  search_ = new QLineEdit;
  search_->setPlaceholderText("Search: gpt-tiny pp=4 tag:good …");
  search_->setAccessibleName("Words of a run");
  search_->setClearButtonEnabled(true);
  search_->setFixedSize(280, kFieldHeight);
  bar->row()->addWidget(found_);
  bar->row()->addWidget(search_);
  column->addWidget(bar);
  table_ = make_table(
      "Runs", {"run", "started", "name", "tags", "steps", "loss", "step", "predicted", "peak"},
      {50, 150, 200, 140});
  table_->header()->setSectionResizeMode(0, QHeaderView::Interactive);
  table_->header()->setSectionResizeMode(2, QHeaderView::Stretch);
  table_->setMinimumHeight(90);
  column->addWidget(table_, 1);
  connect(search_, &QLineEdit::textChanged, this, &RunsPage::refresh_list);
  connect(search_, &QLineEdit::returnPressed, this, [this] { table_->setFocus(); });
  connect(table_, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) {
    if (item != nullptr) choose(item->data(0, Qt::UserRole).toLongLong());
  });
  return list;
}

QWidget* RunsPage::make_card() {
  auto* card = new QWidget;
  card->setObjectName("panel");
  card->setAttribute(Qt::WA_StyledBackground);
  card->setFixedWidth(kCardWidth);
  auto* column = new QVBoxLayout(card);
  column->setContentsMargins(12, 8, 12, 10);
  column->setSpacing(8);
  title_ = make_label("", 13, QFont::DemiBold);
  figures_ = make_label("", 12, QFont::Normal, "second");
  wrong_ = make_label("", 12, QFont::Normal, "error");
  for (QLabel* label : {title_, figures_, wrong_}) label->setWordWrap(true);
  figures_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  tags_ = new QLineEdit;
  tags_->setAccessibleName("Tags of the run");
  tags_->setPlaceholderText("tags, with blanks between");
  note_ = new QPlainTextEdit;
  note_->setAccessibleName("Note on the run");
  note_->setPlaceholderText("A note on this run");
  note_->setTabChangesFocus(true);
  note_->setFixedHeight(90);
  compare_ = new QPushButton("Compare with the open plan");
  compare_->setProperty("kind", "primary");
  compare_->setAccessibleName("Compare the run with the open plan");
  remove_ = new QPushButton("Remove");
  remove_->setAccessibleName("Remove the run from the list");
  column->addWidget(title_);
  column->addWidget(figures_);
  column->addWidget(wrong_);
  column->addWidget(make_label("Tags", 12, QFont::DemiBold));
  column->addWidget(tags_);
  column->addWidget(make_label("Note", 12, QFont::DemiBold));
  column->addWidget(note_);
  auto* row = new QHBoxLayout;
  row->addWidget(compare_);
  row->addStretch(1);
  row->addWidget(remove_);
  column->addLayout(row);
  column->addStretch(1);
  note_->installEventFilter(this);
  connect(tags_, &QLineEdit::editingFinished, this, &RunsPage::commit);
  connect(compare_, &QPushButton::clicked, this, [this] {
    commit();
    if (chosen_) Q_EMIT compare(*chosen_);
  });
  connect(remove_, &QPushButton::clicked, this, &RunsPage::remove);
  return card;
}

std::optional<Drawing> RunsPage::picture() const {
  if (!model_.predicted) return std::nullopt;
  Drawing drawing({1400, 900});
  draw_run(drawing, {0, 0, 1400, 900}, model_, {});
  return drawing;
}

void RunsPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  refresh_list();
}

bool RunsPage::eventFilter(QObject* watched, QEvent* event) {
  if (watched == note_ && event->type() == QEvent::FocusOut) commit();
  return Page::eventFilter(watched, event);
}

void RunsPage::search(const QString& words) { search_->setText(words); }

RunEntry* RunsPage::entry() {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const RunEntry& e) { return chosen_ && e.id == *chosen_; });
  return found == entries_.end() ? nullptr : &*found;
}

void RunsPage::refresh_list() {
  entries_ = runs_.entries(search_->text().toStdString());
  const QSignalBlocker quiet(table_);
  table_->clear();
  for (const RunEntry& e : entries_) {
    auto* item =
        add_table_row(table_, {QString::number(e.id), q(e.started), q(e.name), joined(e.tags),
                               QString::number(e.steps), loss_of(e), time_of(e.step),
                               time_of(e.predicted_step), bytes_of(e.peak)});
    item->setData(0, Qt::UserRole, static_cast<qlonglong>(e.id));
    item->setToolTip(2, q(e.note));
    if (chosen_ && e.id == *chosen_) table_->setCurrentItem(item);
  }
  found_->setText(!runs_.error().empty() ? q(runs_.error())
                  : runs_.path().empty() ? QString("runs of this window are not kept")
                                         : QString("%1 runs").arg(entries_.size()));
  refresh_card(false);
}

void RunsPage::refresh_card(bool anew) {
  const RunEntry* e = entry();
  title_->setText(e == nullptr ? QString("No run is chosen")
                               : QString("Run %1  %2").arg(e->id).arg(q(e->name)));
  figures_->setText(e == nullptr ? QString("Train a plan with Ctrl R: every run is kept here, with "
                                           "its prediction.")
                                 : figures_of(*e));
  if (anew || !tags_->hasFocus()) tags_->setText(e == nullptr ? QString() : joined(e->tags));
  if (anew || !note_->hasFocus()) note_->setPlainText(e == nullptr ? QString() : q(e->note));
  for (QWidget* widget : std::initializer_list<QWidget*>{tags_, note_, compare_, remove_})
    widget->setEnabled(e != nullptr);
  wrong_->setVisible(!wrong_->text().isEmpty());
}

void RunsPage::choose(std::int64_t id) {
  if (chosen_ == id) return;
  commit();
  chosen_ = id;
  wrong_->clear();
  model_ = {};
  model_.status = "opening the run";
  canvas_->refresh();
  {
    const QSignalBlocker quiet(table_);
    for (int i = 0; i < table_->topLevelItemCount(); ++i)
      if (table_->topLevelItem(i)->data(0, Qt::UserRole).toLongLong() == id)
        table_->setCurrentItem(table_->topLevelItem(i));
  }
  refresh_card(true);
  work_.ask(
      [path = runs_.path(), id](const std::stop_token&, const auto&) {
        Answer answer;
        try {
          answer.model = model_of(open_run(RunStore(path).get(id)));
        } catch (const Error& wrong) {
          answer.model.status = describe(wrong);
          answer.model.failed = true;
        } catch (const std::exception& wrong) {
          answer.model.status = std::string("the run cannot be opened: ") + wrong.what();
          answer.model.failed = true;
        }
        return answer;
      },
      [this](Answer answer) {
        model_ = std::move(answer.model);
        canvas_->refresh();
      });
}

void RunsPage::commit() {
  RunEntry* e = entry();
  // The last loss of focus may come while the window goes.
  if (e == nullptr || alive_ == nullptr) return;
  const std::int64_t id = e->id;
  std::vector<std::string> tags;
  for (const QString& tag : tags_->text().split(' ', Qt::SkipEmptyParts))
    tags.push_back(tag.toStdString());
  std::sort(tags.begin(), tags.end());
  tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
  const std::string note = note_->toPlainText().toStdString();
  const bool other_tags = tags != e->tags, other_note = note != e->note;
  if (!other_tags && !other_note) return;
  std::string wrong;
  if (other_tags) runs_.set_tags(id, tags), wrong = runs_.error();
  if (other_note) runs_.set_note(id, note), wrong += runs_.error();
  if (wrong.empty()) e->tags = tags, e->note = note;
  wrong_->setText(q(wrong));
  wrong_->setVisible(!wrong.empty());
}

void RunsPage::remove() {
  if (!chosen_) return;
  const std::int64_t id = *chosen_;
  QMessageBox box(QMessageBox::Question, "Remove run",
                  QString("Remove run %1 from the list? It cannot be brought back.").arg(id),
                  QMessageBox::Cancel | QMessageBox::Yes, this);
  box.button(QMessageBox::Yes)->setText("Remove");
  if (box.exec() != QMessageBox::Yes) return;
  work_.stop();
  chosen_.reset();
  model_ = {};
  runs_.remove(id);
  refresh_list();
  canvas_->refresh();
}

}  // namespace trainyard
