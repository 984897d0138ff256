import { Migration } from '@mikro-orm/migrations'

export class Migration20261127000301_mirrored_names extends Migration {
  override up() {
    this.addSql(
      'create table "mirrored_names" ("name" varchar(64) collate "C" not null, "mirrored_at" timestamptz(3) not null, primary key ("name"));',
    )
    this.addSql(
      'insert into "mirrored_names" ("name", "mirrored_at") select "name", min("used_at") from "mirror_entries" where "kind" = \'listing\' and "sha256" is not null group by "name";',
    )
    this.addSql(
      'alter table "confusable_names" add column "upstream_reason" varchar(500) null, add column "is_upstream_approved" boolean not null default false;',
    )
  }
}
