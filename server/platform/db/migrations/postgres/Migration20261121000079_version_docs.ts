import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000079_version_docs extends Migration {
  override up() {
    this.addSql('create table "version_docs" ("version_id" uuid not null, "state" text check ("state" in (\'pending\', \'running\', \'completed\', \'failed\')) not null, "requested" int not null default 0, "generation" int not null default 0, "engine" varchar(32) null, "engine_version" varchar(100) null, "sha256" varchar(64) null, "bytes" bigint null, "pages" int not null default 0, "generated_at" timestamptz(3) null, "error" varchar(1000) null, primary key ("version_id"));')
    this.addSql('create index "version_docs_sha256_index" on "version_docs" ("sha256");')
    this.addSql('alter table "version_docs" add constraint "version_docs_version_id_foreign" foreign key ("version_id") references "package_versions" ("id") on update cascade on delete cascade;')
  }
}
