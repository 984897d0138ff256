import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000013_legal extends Migration {
  override up() {
    this.addSql('create table "legal_documents" ("kind" varchar(16) not null, "markdown" text not null, "updated_at" timestamptz(3) not null, primary key ("kind"));')
  }
}
