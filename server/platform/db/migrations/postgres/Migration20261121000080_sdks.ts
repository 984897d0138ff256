import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000080_sdks extends Migration {
  override up() {
    this.addSql('create table "sdk_installs" ("id" uuid not null, "created_at" timestamptz(3) not null, "kind" text not null, "version" varchar(64) not null, "channel" text not null, "platform" varchar(32) not null, "status" text not null default \'downloading\', "is_default" boolean not null default false, "generation" int not null default 1, "imported_sha256" varchar(64) null, "bytes_done" bigint not null default \'0\', "bytes_total" bigint null, "log" text not null default \'\', "error_message" varchar(1000) null, "requested_by_id" uuid null, "ready_at" timestamptz(3) null, "size_bytes" bigint null, "dart_version" varchar(64) null, "pana_version" varchar(64) null, primary key ("id"));')
    this.addSql('create unique index "sdk_installs_default" on "sdk_installs" ("kind") where is_default;')
    this.addSql('alter table "sdk_installs" add constraint "sdk_installs_kind_version_channel_unique" unique ("kind", "version", "channel");')
    this.addSql('alter table "sdk_installs" add constraint "sdk_installs_kind_check" check ("kind" in (\'dart\', \'flutter\'));')
    this.addSql('alter table "sdk_installs" add constraint "sdk_installs_channel_check" check ("channel" in (\'stable\', \'beta\', \'dev\'));')
    this.addSql('alter table "sdk_installs" add constraint "sdk_installs_status_check" check ("status" in (\'downloading\', \'extracting\', \'preparing\', \'ready\', \'failed\'));')
  }
}
