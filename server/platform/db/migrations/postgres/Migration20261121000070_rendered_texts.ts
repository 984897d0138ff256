import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000070_rendered_texts extends Migration {
  override up() {
    this.addSql('create table "rendered_texts" ("hash" varchar(64) not null, "html" text null, "bytes" int not null, "created_at" timestamptz(3) not null, primary key ("hash"));')
    this.addSql('create index "rendered_texts_created_at_index" on "rendered_texts" ("created_at");')
  }
}
