import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000013_legal extends Migration {
  override up() {
    this.addSql('create table `legal_documents` (`kind` text not null primary key, `markdown` text not null, `updated_at` datetime not null);')
  }
}
