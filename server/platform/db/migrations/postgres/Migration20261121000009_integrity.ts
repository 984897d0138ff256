import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000009_integrity extends Migration {
  override up() {
    this.addSql('create index "package_versions_package_id_archive_bytes_index" on "package_versions" ("package_id", "archive_bytes");')
    this.addSql('create table "integrity_reports" ("id" uuid not null, "created_at" timestamptz(3) not null, "finished_at" timestamptz(3) not null, "archives" int not null, "bytes" bigint not null, "missing" int not null, "damaged" int not null, "orphans" int not null, "orphan_bytes" bigint not null, "findings" text not null, primary key ("id"));')
  }
}
