import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000013_legal extends Migration {
  override up() {
    this.addSql('create table "legal_documents" ("kind" text not null, "markdown" text not null, "updated_at" timestamptz(3) not null, primary key ("kind"));')
    this.addSql('alter table "legal_documents" add constraint "legal_documents_kind_check" check ("kind" in (\'privacy\', \'terms\'));')
  }
}
