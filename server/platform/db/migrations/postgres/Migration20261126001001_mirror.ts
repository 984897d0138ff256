import { Migration } from '@mikro-orm/migrations'

export class Migration20261126001001_mirror extends Migration {
  override up() {
    this.addSql('create table "mirror_entries" ("key" varchar(160) collate "C" not null, "kind" varchar(16) not null, "name" varchar(64) collate "C" not null, "version" varchar(64) not null default \'\', "sha256" varchar(64) null, "bytes" int not null default 0, "crc32c" varchar(8) null, "etag" varchar(255) null, "checked_at" timestamptz(3) null, "used_at" timestamptz(3) not null, "failed_at" timestamptz(3) null, "failure" varchar(500) null, "leased_until" timestamptz(3) null, primary key ("key"));')
    this.addSql('create index "mirror_entries_kind_name_index" on "mirror_entries" ("kind", "name");')
    this.addSql('create index "mirror_entries_sha256_index" on "mirror_entries" ("sha256");')
    this.addSql('create index "mirror_entries_used_at_index" on "mirror_entries" ("used_at");')
    this.addSql('create table "mirror_decisions" ("id" uuid not null, "created_at" timestamptz(3) not null, "key" varchar(64) not null, "outcome" varchar(16) not null, "rule" varchar(32) not null, "package_name" varchar(64) collate "C" not null, "version" varchar(64) not null default \'\', "reason" varchar(500) not null, "user_id" uuid null, "count" int not null default 1, "last_at" timestamptz(3) not null, primary key ("id"));')
    this.addSql('alter table "mirror_decisions" add constraint "mirror_decisions_key_unique" unique ("key");')
    this.addSql('create index "mirror_decisions_last_at_id_index" on "mirror_decisions" ("last_at", "id");')
    this.addSql('create index "mirror_decisions_rule_last_at_index" on "mirror_decisions" ("rule", "last_at");')
    this.addSql('create index "mirror_decisions_package_name_index" on "mirror_decisions" ("package_name");')
    this.addSql('create index "mirror_decisions_user_id_index" on "mirror_decisions" ("user_id");')
    this.addSql('alter table "mirror_decisions" add constraint "mirror_decisions_user_id_foreign" foreign key ("user_id") references "users" ("id") on delete cascade;')
  }
}
