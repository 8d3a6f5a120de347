#include "app/desktop/shell/settings_dialog.h"

#include <QAction>
#include <QCheckBox>
#include <QFormLayout>
#include <QHeaderView>
#include <QKeySequenceEdit>
#include <QLineEdit>
#include <QPushButton>
#include <QTabBar>
#include <QTabWidget>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/desktop/controls/widgets.h"
#include "app/desktop/shell/commands.h"
#include "app/desktop/shell/key_bindings.h"

namespace trainyard {

SettingsDialog::SettingsDialog(Actions& actions, QWidget* parent)
    : QDialog(parent), actions_(actions), preferences_(load_preferences()), tabs_(new QTabWidget) {
  setWindowTitle("Settings");
  resize(620, 480);
  auto* column = new QVBoxLayout(this);
  column->addWidget(tabs_, 1);
  tabs_->addTab(make_general(), "General");
  tabs_->addTab(make_keys(), "Keys");
  tabs_->tabBar()->setAccessibleName("Parts of the settings");
  add_closing_row(this, column);
}

QWidget* SettingsDialog::make_general() {
  auto* page = new QWidget;
  auto* form = new QFormLayout(page);
  form->setContentsMargins(12, 16, 12, 12);
  form->setVerticalSpacing(12);
  const auto tell = [this] {
    save(preferences_);
    Q_EMIT changed(preferences_);
  };
  const auto field = [&](const char* name, const QStringList& words, int now, auto set) {
    auto* box = new Field(name);
    box->addItems(words);
    box->setCurrentIndex(now);
    box->setFixedWidth(240);
    form->addRow(name, box);
    connect(box, &QComboBox::activated, this, [set, tell](int index) {
      set(index);
      tell();
    });
  };
  field("Theme", {"System", "Dark", "Light"}, static_cast<int>(preferences_.theme),
        [this](int i) { preferences_.theme = static_cast<ThemeChoice>(i); });
  field("Memory", {"GiB, three digits", "GB, three digits", "exact bytes"},
        static_cast<int>(preferences_.numbers),
        [this](int i) { preferences_.numbers = static_cast<NumberStyle>(i); });
  field("Renderer", {"Automatic", "Vulkan", "Software"}, static_cast<int>(preferences_.renderer),
        [this](int i) { preferences_.renderer = static_cast<RendererChoice>(i); });
  const auto box = [&](const char* text, bool now, auto set) {
    auto* check = new QCheckBox(text);
    check->setAccessibleName(text);
    check->setChecked(now);
    form->addRow("", check);
    connect(check, &QCheckBox::toggled, this, [set, tell](bool on) {
      set(on);
      tell();
    });
  };
  box("Wheel zooms", preferences_.wheel_zooms, [this](bool on) { preferences_.wheel_zooms = on; });
  box("Open the last project at the start", preferences_.restore,
      [this](bool on) { preferences_.restore = on; });
  return page;
}

QWidget* SettingsDialog::make_keys() {
  auto* page = new QWidget;
  auto* column = new QVBoxLayout(page);
  auto* words = new QLineEdit;
  words->setPlaceholderText("Search commands");
  words->setAccessibleName("Words of a command to give keys");
  column->addWidget(words);
  keys_ = new QTreeWidget;
  keys_->setAccessibleName("Commands and their keys");
  keys_->setRootIsDecorated(false);
  keys_->setUniformRowHeights(true);
  keys_->setHeaderLabels({"command", "key", "name"});
  for (const Command& command : commands()) {
    auto* item = new QTreeWidgetItem(
        keys_, {QString::fromUtf8(command.text), QString(), QString(command.id)});
    item->setData(0, Qt::UserRole, QString(command.id));
    item->setToolTip(0, QString::fromUtf8(command.help));
  }
  keys_->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  column->addWidget(keys_, 1);
  auto* row = new QHBoxLayout;
  key_ = new QKeySequenceEdit;
  key_->setAccessibleName("New key");
  if (auto* edit = key_->findChild<QLineEdit*>()) edit->setAccessibleName("New key");
  auto* set = new QPushButton("Set key");
  auto* none = new QPushButton("No key");
  auto* again = new QPushButton("Default");
  auto* all = new QPushButton("All defaults");
  row->addWidget(key_, 1);
  for (QPushButton* button : {set, none, again, all}) {
    button->setAutoDefault(false);
    row->addWidget(button);
  }
  column->addLayout(row);
  refusal_ = make_label("", 12, QFont::Normal, "error");
  refusal_->setWordWrap(true);
  column->addWidget(refusal_);
  connect(words, &QLineEdit::textChanged, this, [this](const QString& text) {
    for (int i = 0; i < keys_->topLevelItemCount(); ++i) {
      QTreeWidgetItem* item = keys_->topLevelItem(i);
      const QString all_words = item->text(0) + " " + item->text(1) + " " + item->text(2);
      item->setHidden(!all_words.contains(text.trimmed(), Qt::CaseInsensitive));
    }
  });
  const auto act = [this](QPushButton* button, auto run) {
    connect(button, &QPushButton::clicked, this, [this, run] {
      if (!chosen().isEmpty()) refusal_->setText(run());
      refresh_keys();
    });
  };
  act(set, [this] { return set_key(actions_, chosen(), key_->keySequence()); });
  act(none, [this] { return set_key(actions_, chosen(), {}); });
  act(again, [this] { return reset_keys(actions_, chosen()); });
  connect(all, &QPushButton::clicked, this, [this] {
    reset_all_keys(actions_);
    refusal_->clear();
    refresh_keys();
  });
  keys_->setCurrentItem(keys_->topLevelItem(0));
  refresh_keys();
  return page;
}

void SettingsDialog::show_keys() { tabs_->setCurrentIndex(1); }

QString SettingsDialog::refusal() const { return refusal_->text(); }

QString SettingsDialog::chosen() const {
  const QTreeWidgetItem* item = keys_->currentItem();
  return item == nullptr ? QString() : item->data(0, Qt::UserRole).toString();
}

void SettingsDialog::refresh_keys() {
  for (int i = 0; i < keys_->topLevelItemCount(); ++i) {
    QTreeWidgetItem* item = keys_->topLevelItem(i);
    item->setText(1, keys_text(actions_[item->data(0, Qt::UserRole).toString()]->shortcuts()));
  }
}

}  // namespace trainyard
