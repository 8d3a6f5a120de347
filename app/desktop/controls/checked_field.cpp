#include "app/desktop/controls/checked_field.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QVBoxLayout>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "core/base/error.h"

namespace trainyard {

CheckedField::CheckedField(const Kind& kind, QWidget* parent)
    : QWidget(parent), kind_(kind), edit_(new QLineEdit) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(3);
  auto* row = new QHBoxLayout;
  row->addWidget(make_label(kind.title, 12, QFont::Normal, "second"));
  row->addStretch(1);
  edit_->setAccessibleName(kind.title);
  edit_->setPlaceholderText(kind.usual);
  edit_->setAlignment(Qt::AlignRight);
  edit_->setFixedSize(kind.width, kFieldHeight);
  row->addWidget(edit_);
  column->addLayout(row);
  refusal_ = make_label("", 11, QFont::Normal, "error");
  refusal_->setTextFormat(Qt::PlainText);
  refusal_->setWordWrap(true);
  refusal_->setAccessibleName("What is wrong with " + kind.title.toLower());
  refusal_->hide();
  column->addWidget(refusal_);
  connect(edit_, &QLineEdit::textEdited, this, [this] {
    check();
    Q_EMIT changed();
  });
}

std::string CheckedField::text() const { return edit_->text().trimmed().toStdString(); }

void CheckedField::set_usual(const QString& usual) { edit_->setPlaceholderText(usual); }

bool CheckedField::check() {
  refuse({});
  if (text().empty()) return true;
  try {
    kind_.check(text());
  } catch (const Error& error) {
    refuse(q(error.what()));
    return false;
  }
  return true;
}

void CheckedField::refuse(const QString& sentence) {
  refusal_->setText(sentence);
  refusal_->setVisible(!sentence.isEmpty());
  set_tone(edit_, sentence.isEmpty() ? "" : "error");
}

QString CheckedField::refusal() const { return refusal_->text(); }

}  // namespace trainyard
