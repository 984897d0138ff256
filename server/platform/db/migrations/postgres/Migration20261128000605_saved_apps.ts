import { Migration } from '@mikro-orm/migrations'

export class Migration20261128000605_saved_apps extends Migration {
  override up() {
    this.addSql('create table "saved_apps" ("id" uuid not null, "created_at" timestamptz(3) not null, "user_id" uuid null, "publisher_id" varchar(64) null, "name" varchar(100) collate "C" not null, "lock" text not null, "saved_at" timestamptz(3) not null, "saved_by_id" uuid null, primary key ("id"));')
    this.addSql('create index "saved_apps_saved_by_id_index" on "saved_apps" ("saved_by_id");')
    this.addSql('alter table "saved_apps" add constraint "saved_apps_user_id_name_unique" unique ("user_id", "name");')
    this.addSql('alter table "saved_apps" add constraint "saved_apps_publisher_id_name_unique" unique ("publisher_id", "name");')
    this.addSql('alter table "saved_apps" add constraint "saved_apps_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;')
    this.addSql('alter table "saved_apps" add constraint "saved_apps_publisher_id_foreign" foreign key ("publisher_id") references "publishers" ("id") on delete cascade;')
    this.addSql('alter table "saved_apps" add constraint "saved_apps_saved_by_id_foreign" foreign key ("saved_by_id") references "users" ("id") on delete set null;')
  }
}
