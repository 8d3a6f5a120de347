#include "app/desktop/tables/field_table.h"

#include <QGridLayout>
#include <QLabel>
#include <QLineEdit>

#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"

namespace trainyard {
namespace {

// Minimum widths; the rest is shared. A field shows the longest number of a model, 268435456.
constexpr int kFieldWidth = 92, kNoteWidth = 56;

}  // namespace

FieldTable::FieldTable(const QString& accessible_name, QWidget* parent) : QScrollArea(parent) {
  setObjectName("panel");
  setAccessibleName(accessible_name);
  setFrameShape(QFrame::NoFrame);
  setWidgetResizable(true);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::NoFocus);
}

void FieldTable::show_rows(const QList<FieldRow>& rows) {
  QStringList shape;
  for (const FieldRow& row : rows)
    shape << row.key + '\n' + row.title + '\n' + row.words.join(' ') + (row.fact ? "fact" : "") +
                 (row.note.isEmpty() ? "" : "note");
  if (shape != shape_) {
    shape_ = shape;
    build(rows);
  }
  for (const FieldRow& row : rows) fill(row);
}

void FieldTable::build(const QList<FieldRow>& rows) {
  controls_.clear();
  notes_.clear();
  complaints_.clear();
  auto* inside = new QWidget;
  auto* grid = new QGridLayout(inside);
  grid->setContentsMargins(12, 6, 12, 8);
  grid->setHorizontalSpacing(8);
  grid->setVerticalSpacing(3);
  grid->setColumnStretch(1, 1);
  // The minimum belongs to the column, because a grid ignores the minimum width of a label with a
  // smaller size hint.
  grid->setColumnMinimumWidth(2, kNoteWidth);
  int at = 0;
  QString group;
  for (const FieldRow& row : rows) {
    if (row.group != group) {
      group = row.group;
      auto* head = make_label(group, 11, QFont::DemiBold, "second");
      head->setContentsMargins(0, 6, 0, 1);
      grid->addWidget(head, at++, 0, 1, 3);
    }
    add_row(grid, at, row);
  }
  grid->setRowStretch(at, 1);
  // A control may still be emitting what was entered, so it is deleted afterwards.
  if (QWidget* before = takeWidget()) {
    before->hide();
    before->deleteLater();
  }
  setWidget(inside);
}

void FieldTable::add_row(QGridLayout* grid, int& at, const FieldRow& row) {
  auto* title = make_label(row.title, 12, QFont::Normal, "second");
  grid->addWidget(title, at, 0);
  QWidget* control = nullptr;
  if (row.fact) {
    auto* label = make_label("", 12, QFont::Normal);
    label->setWordWrap(true);
    label->setMinimumWidth(kFieldWidth);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    control = label;
  } else if (!row.words.isEmpty()) {
    auto* field = new Field(row.title);
    field->addItems(row.words);
    field->setMinimumWidth(kFieldWidth);
    connect(field, &QComboBox::textActivated, this,
            [this, key = row.key](const QString& word) { Q_EMIT entered(key, word); });
    control = field;
  } else {
    auto* edit = new QLineEdit;
    edit->setAccessibleName(row.title);
    edit->setFixedHeight(kFieldHeight);
    edit->setMinimumWidth(kFieldWidth);
    connect(edit, &QLineEdit::editingFinished, this, [this, edit, key = row.key] {
      if (!edit->isModified()) return;
      edit->setModified(false);
      Q_EMIT entered(key, edit->text().trimmed());
    });
    control = edit;
  }
  // What has no note beside it may be a long word, such as a name.
  grid->addWidget(control, at, 1, 1, row.note.isEmpty() || row.fact ? 2 : 1);
  if (!row.fact && !row.note.isEmpty()) {
    auto* note = new ElidedLabel(11, "third");
    grid->addWidget(note, at, 2);
    notes_.insert(row.key, note);
  }
  controls_.insert(row.key, control);
  ++at;
  if (row.fact) return;
  auto* complaint = make_label("", 11, QFont::Normal, "error");
  complaint->setWordWrap(true);
  complaint->hide();
  grid->addWidget(complaint, at++, 0, 1, 3);
  complaints_.insert(row.key, complaint);
}

void FieldTable::fill(const FieldRow& row) {
  QWidget* control = controls_.value(row.key);
  control->setToolTip(row.doc);
  if (auto* label = qobject_cast<QLabel*>(control)) {
    label->setText(row.value);
  } else if (auto* field = qobject_cast<Field*>(control)) {
    field->setCurrentText(row.value);
  } else if (auto* edit = qobject_cast<QLineEdit*>(control)) {
    if (edit->text() != row.value) {
      edit->setText(row.value);
      edit->setCursorPosition(0);  // show the beginning of a long word
    }
    edit->setModified(false);
  }
  if (QLabel* note = notes_.value(row.key)) {
    note->setText(row.note);
    note->setToolTip(row.note + (row.doc.isEmpty() ? "" : "\n" + row.doc));
    control->setAccessibleDescription(row.note + ". " + row.doc);
  }
  say(row.key, "");
}

void FieldTable::say(const QString& key, const QString& sentence) {
  QLabel* complaint = complaints_.value(key);
  if (complaint == nullptr) return;
  complaint->setText(sentence);
  complaint->setVisible(!sentence.isEmpty());
  if (!sentence.isEmpty()) controls_.value(key)->setAccessibleDescription(sentence);
}

QString FieldTable::said(const QString& key) const {
  const QLabel* complaint = complaints_.value(key);
  return complaint == nullptr ? QString() : complaint->text();
}

}  // namespace trainyard
