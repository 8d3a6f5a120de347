#include "app/desktop/controls/word_list.h"

#include <QCompleter>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/desktop/controls/chip_row.h"
#include "app/desktop/controls/icons.h"
#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "core/base/error.h"

namespace trainyard {
namespace {

// A line edit cuts what is longer, and without a word; the values of a long axis have room here.
constexpr int kMostTyped = 1 << 20;

}  // namespace

WordList::WordList(const Kind& kind, QWidget* parent)
    : QWidget(parent), kind_(kind), chips_(new ChipRow(kind.title)), edit_(new QLineEdit) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(3);
  column->addWidget(make_label(kind.title, 11, QFont::Normal, "second"));
  chips_->set_titles(kind.chip);
  column->addWidget(chips_);
  edit_->setAccessibleName("Add to " + kind.title.toLower());
  edit_->setPlaceholderText(kind.hint);
  edit_->setToolTip("Enter adds it; a click on a chip turns it off or on again");
  edit_->setFixedHeight(kFieldHeight);
  edit_->setMaxLength(kMostTyped);
  if (!kind.offered.isEmpty()) {
    auto* completer = new QCompleter(kind.offered, edit_);
    completer->setCaseSensitivity(Qt::CaseInsensitive);
    completer->setFilterMode(Qt::MatchContains);
    edit_->setCompleter(completer);
  }
  auto* row = new QHBoxLayout;
  row->setSpacing(4);
  row->addWidget(edit_, 1);
  if (!kind.files.isEmpty()) {
    auto* files = new QToolButton;
    files->setIcon(icon("file", qcolor(Ink::Text2, current_theme())));
    files->setFixedSize(kFieldHeight, kFieldHeight);
    files->setFocusPolicy(Qt::TabFocus);
    files->setAccessibleName("Choose files of " + kind.title.toLower());
    files->setToolTip(files->accessibleName());
    row->addWidget(files);
    connect(files, &QToolButton::clicked, this, &WordList::choose_files);
  }
  column->addLayout(row);
  refusal_ = make_label("", 11, QFont::Normal, "error");
  refusal_->setTextFormat(Qt::PlainText);
  refusal_->setWordWrap(true);
  refusal_->setAccessibleName("What is wrong with " + kind.title.toLower());
  refusal_->hide();
  column->addWidget(refusal_);
  // Only then has the completer, which hears of the key too, written what it completes.
  connect(edit_, &QLineEdit::returnPressed, this, &WordList::commit, Qt::QueuedConnection);
  connect(edit_, &QLineEdit::textEdited, this, [this] { refuse({}); });
  connect(chips_, &ChipRow::changed, this, [this] {
    mine_ = true;
    chips_->setVisible(!chips_->values().isEmpty());
    refuse({});
    Q_EMIT changed();
  });
  show_words({}, {});
}

void WordList::show_words(const QStringList& words, const QStringList& on) {
  chips_->set_values(words, on, {});
  chips_->setVisible(!words.isEmpty());
}

void WordList::set_usual(const QStringList& words) {
  if (!mine_ && words != chips_->values()) show_words(words, words);
}

QStringList WordList::on() const { return chips_->on(); }

std::vector<std::string> WordList::words() const {
  std::vector<std::string> list;
  for (const QString& word : on()) list.push_back(word.toStdString());
  return list;
}

bool WordList::add(const QString& typed) {
  const QString word = typed.trimmed();
  if (word.isEmpty()) return true;
  try {
    kind_.check(word.toStdString());
  } catch (const Error& error) {
    refuse(q(error.what()));
    return false;
  }
  QStringList words = chips_->values(), on = chips_->on();
  if (!words.contains(word)) words << word;
  if (!on.contains(word)) on << word;
  mine_ = true;
  refuse({});
  show_words(words, on);
  Q_EMIT changed();
  return true;
}

bool WordList::commit() {
  if (!add(edit_->text())) return false;
  edit_->clear();
  return true;
}

void WordList::refuse(const QString& sentence) {
  refusal_->setText(sentence);
  refusal_->setVisible(!sentence.isEmpty());
  set_tone(edit_, sentence.isEmpty() ? "" : "error");
}

QString WordList::refusal() const { return refusal_->text(); }

void WordList::choose_files() {
  for (const QString& path : QFileDialog::getOpenFileNames(this, kind_.title, {}, kind_.files))
    if (!add(path)) return;
}

}  // namespace trainyard
